// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "support/contract_test.hpp"

#include <string>

#include "support/kept_contexts.hpp"
#include "support/scale.hpp"

namespace flotilla::test {

namespace {

constexpr char const* suite_prefix(tbb_threads threads) {
  switch (threads) {
    case tbb_threads::all: return "all_tbb_threads/";
    case tbb_threads::one: return "one_tbb_thread/";
    case tbb_threads::none: break;
  }
  return "no_tbb_thread/";
}

std::string name_of(arrangement const& each) {
  return "devices" + std::to_string(each.devices) + "_workers" + std::to_string(each.workers);
}

/// Whether GoogleTest's filter may select a test of this arrangement. In the child process of a
/// death test, the filter is the name of one test.
bool may_run(arrangement const& each) {
  std::string const filter = GTEST_FLAG_GET(filter);
  bool const is_name = filter.find_first_of("*?:-") == filter.npos;
  return !is_name ||
         (filter.starts_with(suite_prefix(each.threads)) && filter.ends_with("/" + name_of(each)));
}

}  // namespace

void PrintTo(arrangement const& value, std::ostream* out) {
  constexpr char const* names[] = {"all threads of oneTBB", "one thread of oneTBB",
                                   "no thread of oneTBB"};
  *out << value.devices << " devices, " << value.workers << " workers, "
       << names[static_cast<int>(value.threads)];
}

std::string arrangement_name(::testing::TestParamInfo<arrangement> const& info) {
  return name_of(info.param);
}

std::vector<arrangement> arrangements(tbb_threads threads) {
  // Sanitizers are several times slower than a release build, so they try fewer arrangements.
  std::vector<int> const numbers_of_workers =
      sanitized ? std::vector{0, 8} : std::vector{0, 1, 2, 8};
  std::vector<arrangement> all;
  for (int const devices : {1, 2, 4}) {
    for (int const workers : numbers_of_workers) {
      arrangement const each{devices, workers, threads};
      // Under a sanitizer, registering the tests of all arrangements takes longer than most tests.
      if (may_run(each)) { all.push_back(each); }
    }
  }
  return all;
}

contract_test::contract_test() = default;
contract_test::~contract_test() = default;

void contract_test::SetUp() {
  FLOTILLA_NEED_DEVICES(device_count());
  guest_test::SetUp();
  // The hog blocks three oneTBB threads. One of them is the thread that runs the hog's loop. The
  // other two are as many as the default workers of a runtime on a machine of three cores.
  constexpr int hogged_threads = 3;
  switch (GetParam().threads) {
    case tbb_threads::all: parallelism_ = std::make_unique<parallelism>(max_tbb_threads); break;
    case tbb_threads::one: parallelism_ = std::make_unique<parallelism>(1); break;
    case tbb_threads::none:
      parallelism_ = std::make_unique<parallelism>(hogged_threads);
      hog_ = std::make_unique<tbb_hog>(hogged_threads);
      break;
  }
}

void contract_test::TearDown() {
  stop();
  hog_.reset();
  parallelism_.reset();
  guest_test::TearDown();
}

runtime_options contract_test::options() const {
  runtime_options made{.devices = device_spec(device_count()), .workers = worker_count()};
  if (may_keep_contexts() && contexts_are_kept()) {
    made.settings.all.context = context_source::primary();
  }
  return made;
}

runtime& contract_test::rt() {
  std::lock_guard const lock{creation_};  // several threads may call rt() at the same time
  if (!rt_) { rt_.emplace(options()); }
  return *rt_;
}

runtime& contract_test::start(runtime_options options) {
  rt_.emplace(std::move(options));
  return *rt_;
}

void contract_test::stop() {
  program_.reset();
  rt_.reset();
}

test_program& contract_test::program() {
  runtime& loader = rt();
  std::lock_guard const lock{creation_};
  if (!program_) { program_.emplace(loader); }
  return *program_;
}

std::vector<device_ordinal> contract_test::ordinals() const {
  std::vector<device_ordinal> all;
  for (unsigned i = 0; i < static_cast<unsigned>(device_count()); ++i) { all.push_back({i}); }
  return all;
}

}  // namespace flotilla::test
