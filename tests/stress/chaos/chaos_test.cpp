// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Four devices that can be lost run a random mix of tasks whose results are known in advance, while
// they fault, are killed and hang. No task is lost, doubled or wrong, and no wait hangs. A repeatable
// task may run twice: it runs again if it may have run on a lost device, and fails the second time.
//
// FLOTILLA_TEST_SECONDS is the time (default: 5), and FLOTILLA_TEST_SEED the first seed.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/task/bulk.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "containment/lossy_devices.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

using clock = std::chrono::steady_clock;
using word = std::uint32_t;
using namespace std::chrono_literals;

constexpr int device_count = 4;

unsigned number_of(char const* variable, unsigned otherwise) {
  char const* const text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

enum class ending { well, lost, dependency, other };

ending ending_of(ticket const& task) {
  try {
    if (!task.wait_for(test_timeout)) { return ending::other; }
    return ending::well;
  } catch (device_fault const&) { return ending::lost; } catch (dependency_failed const&) {
    return ending::dependency;
  } catch (bulk_error const&) { return ending::lost; } catch (std::exception const& why) {
    ADD_FAILURE() << why.what();
    return ending::other;
  }
}

/// The totals of all threads.
struct totals {
  std::atomic<std::uint64_t> tasks{0}, lost{0};
};

/// One thread that submits tasks in rounds, and checks each round.
class client {
 public:
  client(runtime& rt, test_program& program, unsigned seed, totals& all)
      : rt_(rt),
        program_(program),
        count_(program.loaded.kernel<word*, word>("count_id")),
        random_(seed),
        all_(all) {}

  void run_until(clock::time_point end) {
    while (clock::now() < end && !::testing::Test::HasFailure()) {
      switch (random_() % 4) {
        case 0: flood(); break;
        case 1: chain(); break;
        case 2: copies(); break;
        default: bulk_of_items(); break;
      }
    }
  }

 private:
  [[nodiscard]] device_ordinal any_device() {
    return {static_cast<unsigned>(random_() % device_count)};
  }

  /// Gets zeros on a device that may be lost at this moment.
  [[nodiscard]] std::optional<device_buffer<word>> zeros(std::size_t size, device_ordinal device) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      try {
        std::optional<device_buffer<word>> made{std::in_place, rt_, device, size};
        if (ending_of(rt_.submit(made->span().fill(0))) == ending::well) { return made; }
      } catch (error const&) {
        // a call of this thread found that the device is lost
      }
    }
    ADD_FAILURE() << "no buffer";
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::vector<word>> read(device_buffer<word> const& from) {
    std::vector<word> values(from.size());
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (ending_of(rt_.submit(from.copy_to(std::span{values}))) == ending::well) { return values; }
    }
    ADD_FAILURE() << "no copy";
    return std::nullopt;
  }
  /// Checks a task that must not run more often than `most` times.
  void note(ending how, word ran, word most = 1) {
    ++all_.tasks;
    if (how != ending::well) { ++all_.lost; }
    EXPECT_NE(how, ending::other);
    EXPECT_LE(ran, most) << "doubled";
    if (how == ending::well) { EXPECT_GE(ran, 1u) << "lost"; }
    if (how == ending::dependency) { EXPECT_EQ(ran, 0u); }
  }

  /// Tasks without an order. Each counts in a word of its own.
  void flood() {
    word const size = 1 + random_() % 500;
    auto counters = zeros(size, any_device());
    if (!counters) { return; }
    std::vector<ticket> tasks;
    for (word i = 0; i < size; ++i) {
      tasks.push_back(rt_.submit(count_.with_shape({1}, {1})(*counters, i)));
    }
    check(tasks, *counters);
  }
  /// A chain over devices.
  void chain() {
    word const size = 1 + random_() % 60;
    std::vector<device_buffer<word>> counters;
    for (unsigned i = 0; i < device_count; ++i) {
      auto made = zeros(size, device_ordinal{i});
      if (!made) { return; }
      counters.push_back(std::move(*made));
    }
    std::vector<ticket> tasks;
    std::vector<unsigned> where;
    for (word i = 0; i < size; ++i) {
      where.push_back(any_device().value);
      task_options options;
      if (i != 0) { options.after = {tasks.back()}; }
      tasks.push_back(rt_.submit(count_.with_shape({1}, {1})(counters[where.back()], i), options));
    }
    std::vector<ending> endings;
    for (ticket const& each : tasks) { endings.push_back(ending_of(each)); }
    std::vector<std::vector<word>> ran;
    for (auto const& each : counters) {
      auto values = read(each);
      if (!values) { return; }
      ran.push_back(std::move(*values));
    }
    bool broken = false;
    for (word i = 0; i < size; ++i) {
      if (broken) { EXPECT_NE(endings[i], ending::well) << "a predecessor failed"; }
      broken = broken || endings[i] != ending::well;
      note(endings[i], ran[where[i]][i]);
    }
  }
  /// Copies run again, so their results are right unless they were suspects twice.
  void copies() {
    std::size_t const size = 1 + random_() % (std::size_t{1} << 18);
    std::vector<word> source(size);
    std::iota(source.begin(), source.end(), static_cast<word>(random_()));
    auto x = zeros(size, any_device()), y = zeros(size, any_device());
    if (!x || !y) { return; }
    std::vector<word> result(size);
    ticket const up = rt_.submit(x->copy_from(source));
    ticket const across = rt_.submit(y->copy_from(*x), {.after = {up}});
    ticket const down = rt_.submit(y->copy_to(std::span{result}), {.after = {across}});
    bool well = true;
    for (ticket const* each : {&up, &across, &down}) {
      ending const how = ending_of(*each);
      well = well && how == ending::well;
      ++all_.tasks;
      if (how != ending::well) { ++all_.lost; }
      EXPECT_NE(how, ending::other);
    }
    if (well) { EXPECT_EQ(result, source); }
  }
  void bulk_of_items() {
    word const size = 1 + random_() % 1000;
    auto counters = zeros(size, any_device());
    if (!counters) { return; }
    bool const repeatable = random_() % 2 == 0;
    ticket const all = submit_bulk(rt_, count_.with_shape({1}, {1}), size,
                                   [&](std::size_t i) {
                                     return std::tuple{counters->span(), static_cast<word>(i)};
                                   },
                                   {.repeatable = repeatable});
    ending const how = ending_of(all);
    auto const ran = read(*counters);
    if (!ran) { return; }
    for (word const each : *ran) {
      note(how == ending::well ? how : ending::lost, each, repeatable ? 2 : 1);
    }
  }
  void check(std::vector<ticket> const& tasks, device_buffer<word> const& counters) {
    std::vector<ending> endings;
    for (ticket const& each : tasks) { endings.push_back(ending_of(each)); }
    auto const ran = read(counters);
    if (!ran) { return; }
    for (std::size_t i = 0; i < tasks.size(); ++i) { note(endings[i], (*ran)[i]); }
  }

  runtime& rt_;
  test_program& program_;
  kernel<word*, word> count_;
  std::mt19937 random_;
  totals& all_;
};

class Chaos : public guest_test {};

// stress
TEST_F(Chaos, NothingIsLostDoubledWrongOrHung) {
  FLOTILLA_NEED_CPU_DRIVER();
  unsigned const seed = number_of("FLOTILLA_TEST_SEED", 1);
  auto const end = clock::now() + std::chrono::seconds{number_of("FLOTILLA_TEST_SECONDS", 5)};
  lossy_devices devices{device_count};
  totals all;
  {
    dispatch::tuning tuned;
    tuned.recovery = &devices;
    runtime_options options;
    options.devices = device_spec(device_count);
    options.workers = 2;
    options.stuck_after = 200ms;
    options.restart = {.intensity = 1'000'000};
    ::testing::internal::CaptureStderr();  // the reports of kernels that hang
    runtime rt = make_runtime(options, tuned);
    test_program program{rt};
    std::vector<std::thread> clients;
    for (unsigned i = 0; i < 3; ++i) {
      clients.emplace_back([&, i] { client{rt, program, seed * 100 + i, all}.run_until(end); });
    }
    std::mt19937 random{seed};
    while (clock::now() < end && !HasFailure()) {
      auto const which = static_cast<int>(random() % device_count);
      device const& device = rt.devices()[static_cast<std::size_t>(which)];
      switch (random() % 4) {
        case 0:
          testing::fault_kernel(device, 1 + random() % 20, driver_status::illegal_address);
          break;
        case 1: testing::hang_kernel(device, 1 + random() % 20); break;
        default: devices.lose(which); break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{1 + random() % 20});
    }
    for (std::thread& each : clients) { each.join(); }
    testing::clear_faults();
    rt.wait_idle();
    std::string const text = ::testing::internal::GetCapturedStderr();
    if (HasFailure()) { std::fputs(text.c_str(), stderr); }
  }
  std::printf("seed %u: %llu tasks, of which %llu failed; %d losses\n", seed,
              static_cast<unsigned long long>(all.tasks.load()),
              static_cast<unsigned long long>(all.lost.load()), devices.replacements());
  EXPECT_GT(all.tasks.load(), 0u);
  EXPECT_GT(devices.replacements(), 0);
}

}  // namespace
}  // namespace flotilla::test
