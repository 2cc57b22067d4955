// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Each call of each entry point of the driver fails once, while a program uses a runtime for
// everything (workload.hpp). Whatever call fails: the process ends in time, each task ends with
// success and a right result or with an error that names something, nothing is left in the driver,
// and the same runtime and another one work afterwards.
//
// Each failure has a process of its own. There are too many failures for one test. So the test lets
// the first two calls of each entry point fail, and then others, in an order that depends only on
// FLOTILLA_TEST_SEED, until FLOTILLA_TEST_SECONDS have passed. FLOTILLA_TEST_CALL=cuMemAllocAsync@3
// lets only this call fail, and prints the errors.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <random>
#include <thread>

#include <flotilla/testing/fault_injection.hpp>

#include "cpu_driver/api/control.hpp"
#include "driver/library.hpp"
#include "stress/failed_calls/workload.hpp"
#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

constexpr char const* entries[] = {
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) #name,
#include "base/driver_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
};

/// Where the n-th call is counted from.
enum class phase { start, running, ending };
constexpr char const* phase_names[] = {"start", "running", "ending"};

struct failure {
  std::string entry;
  std::size_t n;
  phase from;
  driver_status status;
  int workers;
  bool traced;
  /// 0: always tried; 1: always tried without a sanitizer; 2: tried before those of rank 3.
  [[nodiscard]] int rank() const {
    if (n > 2) { return 3; }
    return from == phase::running ? static_cast<int>(n) - 1 : 2;
  }
};
std::string text_of(failure const& what) {
  return what.entry + "@" + std::to_string(what.n) + " from " +
         phase_names[static_cast<int>(what.from)] + ", " + to_string(what.status) + ", " +
         std::to_string(what.workers) + " workers" + (what.traced ? ", traced" : "");
}

enum endings : int { right, not_reached, violated };

/// If the driver refuses to destroy an object, the object stays.
bool may_leave_one(std::string_view entry) {
  return entry.find("Destroy") != entry.npos || entry.find("Free") != entry.npos ||
         entry.find("Unload") != entry.npos;
}
/// A failed change of the stack of contexts makes a device unusable (docs/faults.md). A sticky
/// status poisons the runtime.
bool may_end_the_runtime(failure const& what) {
  return what.status == driver_status::launch_failed || what.entry == "cuCtxPopCurrent" ||
         what.entry == "cuCtxPushCurrent" || what.entry == "cuCtxGetCurrent";
}

void inject(failure const& what) {
  testing::delay_calls(what.entry, std::chrono::microseconds{0});  // counts its calls
  testing::fail_call(what.entry, what.n, what.status);
}
bool is_reached(failure const& what) {
  return driver::cpu_control().delayed_calls(what.entry.c_str()) >= what.n;
}

/// Uses the runtime with the failure. @return whether the call was made.
bool use(failure const& what, application_stream& stream, findings& found) {
  std::optional<runtime> rt;
  std::optional<trace> traced;
  std::string const file = ::testing::TempDir() + "failed_calls_" + std::to_string(::getpid());
  bool reached = false;
  try {
    if (what.from == phase::start) { inject(what); }
    rt.emplace(runtime_options{
        .devices = device_spec(2), .workers = what.workers, .on_error = [](std::exception_ptr) {}});
    program const loaded = rt->load(test_image());
    if (what.traced) { traced.emplace(*rt, trace_options{.file = file}); }
    workload work{*rt, loaded, stream, found};
    if (what.from == phase::running) { inject(what); }
    work.run();
    if (what.from == phase::ending) {
      inject(what);
      work.run();
    } else {
      reached = is_reached(what);
      testing::clear_faults();
      findings again;
      workload{*rt, loaded, stream, again}.run();
      auto& to = may_end_the_runtime(what) ? found.errors : found.violations;
      for (std::string const& each : again.errors) { to.push_back("the second use: " + each); }
      for (std::string const& each : again.violations) {
        found.violations.push_back("the second use: " + each);
      }
    }
  } catch (std::exception const& why) { found.report("runtime", why); }
  traced.reset();
  rt.reset();
  std::remove(file.c_str());
  reached = reached || is_reached(what);
  testing::clear_faults();
  return reached;
}

void use_another_runtime(findings& found) {
  try {
    runtime rt{{.devices = device_spec(2), .workers = 1}};
    device_buffer<unsigned> values{rt, device_ordinal{1}, 100};
    std::vector<unsigned> out(100);
    ticket const filled = rt.submit(values.fill(3u));
    ticket const down = rt.submit(values.copy_to(out), {.after = {filled}});
    if (!down.wait_for(std::chrono::seconds{15})) {
      found.violations.push_back("another runtime hangs");
      return;
    }
    down.wait();
    if (out[99] != 3u) { found.violations.push_back("another runtime is wrong"); }
  } catch (std::exception const& why) {
    found.violations.push_back(std::string{"another runtime fails: "} + why.what());
  }
}

int fail_one_call(failure const& what, bool prints_errors) {
  findings found;
  bool reached = false;
  {
    application_stream stream;
    std::size_t const before = live_handles();
    reached = use(what, stream, found);
    std::size_t const left = live_handles() - before;
    if (left != 0 && !(left == 1 && may_leave_one(what.entry))) {
      found.violations.push_back(std::to_string(left) + " objects of the driver are left");
    }
  }
  if (what.status != driver_status::launch_failed) { use_another_runtime(found); }
  if (prints_errors) {
    for (std::string const& each : found.errors) {
      std::fprintf(stderr, "error: %s\n", each.c_str());
    }
  }
  for (std::string const& each : found.violations) {
    std::fprintf(stderr, "violation: %s\n", each.c_str());
  }
  std::fflush(stderr);
  return !found.violations.empty() ? violated : reached ? right : not_reached;
}

/// Counts the calls of each entry point that a program without failures makes. Runs in a child.
std::vector<std::size_t> count_calls() {
  int ends[2];
  if (::pipe(ends) != 0) { throw std::runtime_error{"pipe failed"}; }
  int const code = forked([&] {
    for (char const* const each : entries) {
      testing::delay_calls(each, std::chrono::microseconds{0});
    }
    findings found;
    {
      application_stream stream;
      runtime rt{{.devices = device_spec(2), .workers = 1}};
      workload{rt, rt.load(test_image()), stream, found}.run();
    }
    for (char const* const each : entries) {
      std::size_t const calls = driver::cpu_control().delayed_calls(each);
      if (::write(ends[1], &calls, sizeof calls) != sizeof calls) { return 1; }
    }
    for (std::string const& each : found.errors) { std::fprintf(stderr, "%s\n", each.c_str()); }
    for (std::string const& each : found.violations) { std::fprintf(stderr, "%s\n", each.c_str()); }
    return found.errors.empty() && found.violations.empty() ? 0 : 1;
  });
  EXPECT_EQ(code, 0) << "the program fails without a failure";
  std::vector<std::size_t> counts(std::size(entries));
  if (code == 0) {
    std::size_t const bytes = counts.size() * sizeof counts[0];
    EXPECT_EQ(::read(ends[0], counts.data(), bytes), static_cast<ssize_t>(bytes));
  }
  ::close(ends[0]);
  ::close(ends[1]);
  return counts;
}

long environment(char const* name, long otherwise) {
  char const* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

constexpr driver_status statuses[] = {driver_status::out_of_memory, driver_status::invalid_value,
                                      driver_status::not_supported, driver_status::launch_failed};

/// All failures, the most important ones first, and otherwise in an order that depends on `seed`.
std::vector<failure> all_failures(unsigned seed) {
  std::vector<std::size_t> const counts = count_calls();
  std::minstd_rand random{seed};
  std::vector<failure> all;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    constexpr std::size_t most = 2000;  // of thousands of equal calls
    for (std::size_t n = 1; n <= std::min(counts[i], most); ++n) {
      for (phase const from : {phase::running, phase::start, phase::ending}) {
        std::size_t const status = random() % std::size(statuses);
        failure const each{
            entries[i],       n, from, statuses[status], static_cast<int>(random() % 2),
            random() % 4 == 0};
        // This answer is no failure: it says that the kernel has no such parameter.
        bool const is_answer =
            each.entry == "cuKernelGetParamInfo" && each.status == driver_status::invalid_value;
        if (!is_answer) { all.push_back(each); }
      }
    }
  }
  std::shuffle(all.begin(), all.end(), random);
  std::stable_sort(all.begin(), all.end(), [](failure const& one, failure const& other) {
    return one.rank() < other.rank();
  });
  return all;
}

class FailedCalls : public ::testing::Test {
 protected:
  void SetUp() override { FLOTILLA_NEED_CPU_DRIVER(); }
};

// stress: no failed call hangs, crashes, leaks or makes results wrong
TEST_F(FailedCalls, AnyCallMayFailOnce) {
  if (char const* const only = std::getenv("FLOTILLA_TEST_CALL")) {
    std::string const text{only};
    std::size_t const at = text.find('@');
    failure what{
        text.substr(0, at), std::stoul(text.substr(at + 1)), phase::running, statuses[0], 1, false};
    what.from = static_cast<phase>(environment("FLOTILLA_TEST_PHASE", 1));
    what.status = statuses[environment("FLOTILLA_TEST_STATUS", 0)];
    what.workers = static_cast<int>(environment("FLOTILLA_TEST_WORKERS", 1));
    EXPECT_EQ(forked([&] { return fail_one_call(what, true); }), right);
    return;
  }
  auto const seconds = std::chrono::seconds{environment("FLOTILLA_TEST_SECONDS", 20)};
  auto const until = std::chrono::steady_clock::now() + seconds;
  std::vector<failure> const all =
      all_failures(static_cast<unsigned>(environment("FLOTILLA_TEST_SEED", 1)));
  std::vector<int> ends;
  std::deque<std::pair<failure const*, pid_t>> running;
  std::size_t const at_once = std::max(2u, std::thread::hardware_concurrency());
  auto const wait_for_first = [&] {
    ends.push_back(result_of(running.front().second));
    int const ended = ends.back();
    EXPECT_TRUE(ended == right || ended == not_reached)
        << text_of(*running.front().first) << ": status " << ended
        << (ended > 256 ? ": the signal with the number (status - 256) ended the child" : "");
    running.pop_front();
  };
  for (failure const& each : all) {
    if (each.rank() > (sanitized ? 0 : 1) && std::chrono::steady_clock::now() > until) { break; }
    running.emplace_back(&each, start_forked([&] { return fail_one_call(each, false); }));
    if (running.size() == at_once) { wait_for_first(); }
  }
  while (!running.empty()) { wait_for_first(); }
  auto const not_made = std::count(ends.begin(), ends.end(), not_reached);
  auto const good = std::count(ends.begin(), ends.end(), right);
  std::printf("%zu of %zu failures: %td right, %td calls not made, %td violations\n", ends.size(),
              all.size(), good, not_made, std::ssize(ends) - good - not_made);
}

}  // namespace
}  // namespace flotilla::test
