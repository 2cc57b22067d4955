// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A runtime that runs tasks of all kinds for a long time does not grow. FLOTILLA_STRESS_SCALE
// scales the time.

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class Limits : public guest_test {};

/// Returns the resident memory of this process in bytes.
std::size_t resident_bytes() {
  std::ifstream statm{"/proc/self/statm"};
  std::size_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Tasks of all kinds: with and without errors, tickets, continuations, deadlines and stop tokens.
class mixed_work {
 public:
  explicit mixed_work(runtime& rt)
      : rt_{rt},
        program_{rt},
        words_{rt, device_ordinal{0}, values_.size()},
        sum_{rt, device_ordinal{0}, 1} {
    rt.submit(sum_.fill(0)).wait();
    steps_.emplace(rt);
    steps_->add(program_.add.with_shape({1}, {1})(sum_, 1u));
  }

  void run_once() {
    auto const add = program_.add.with_shape({1}, {1})(sum_, 1u);
    std::stop_source source;
    std::vector<ticket> tasks;
    ticket const upload = rt_.submit(words_.copy_from(values_));
    for (int i = 0; i < 20; ++i) {
      tasks.push_back(rt_.submit(add, {.label = "a label", .after = {upload}}));
      tasks.push_back(rt_.submit(add, {.after = {upload}, .stop = source.get_token()}));
      tasks.push_back(rt_.submit(add, {.after = {upload}, .deadline = in(50us * i)}));
      tasks.push_back(rt_.submit([](task_context&) { throw 1; }, {.deadline = in(1h)}));
      tasks.push_back(rt_.submit(add, {.after = {tasks.back()}}));  // fails
      rt_.submit(add).then([](std::exception_ptr) {});
      tasks.push_back(rt_.submit(host_task([] {}), {.after = {upload}, .deadline = in(50us * i)}));
      if (i % 3 == 0) { tasks.back().cancel(); }
    }
    source.request_stop();
    tasks.push_back(
        rt_.submit(bulk(200, [&](std::size_t) { return add; }), {.deadline = in(100us)}));
    tasks.push_back(steps_->replay({.deadline = in(100us)}));
    tasks.push_back(rt_.submit(words_.copy_to(results_)));
    for (ticket const& each : tasks) {
      try {
        each.wait();
      } catch (...) { ++failed_; }
    }
  }
  [[nodiscard]] std::size_t failed() const { return failed_; }

 private:
  static std::chrono::steady_clock::time_point in(std::chrono::microseconds time) {
    return std::chrono::steady_clock::now() + time;
  }

  runtime& rt_;
  test_program program_;
  std::vector<std::uint32_t> values_ = std::vector<std::uint32_t>(300'000), results_ = values_;
  device_buffer<std::uint32_t> words_, sum_;
  std::optional<recording> steps_;
  std::size_t failed_ = 0;
};

// requirement: nothing in the runtime grows without a bound: slots, failures, continuations, stop
// callbacks, deadlines, staging memory, templates
TEST_F(Limits, ALongMixedRunDoesNotGrow) {
  if (sanitized) { GTEST_SKIP() << "sanitizers keep freed memory"; }
  auto const time = std::chrono::milliseconds{scaled(1500)};
  for (int const workers : {0, 2}) {
    runtime rt{{.devices = device_spec(1), .workers = workers, .window = 1024}};
    mixed_work work{rt};
    std::size_t rounds = 0;
    auto const run_for = [&](std::chrono::milliseconds limit) {
      auto const end = std::chrono::steady_clock::now() + limit;
      while (std::chrono::steady_clock::now() < end) {
        work.run_once();
        ++rounds;
      }
      rt.wait_idle();
    };
    run_for(time);
    std::size_t const before = resident_bytes();
    std::size_t const first_rounds = rounds;
    run_for(2 * time);
    std::size_t const after = resident_bytes();
    constexpr std::size_t noise = 6u << 20;  // of the allocator
    EXPECT_LT(after, before + noise) << rounds - first_rounds << " rounds after " << first_rounds;
    EXPECT_GT(work.failed(), rounds) << "each round has failures";
    std::printf("workers %d: %zu rounds, %zu KiB before, %zu KiB after\n", workers, rounds,
                before / 1024, after / 1024);
  }
}

}  // namespace
}  // namespace flotilla::test
