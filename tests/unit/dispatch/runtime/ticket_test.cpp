// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tickets: one ticket used by several threads at the same time, and tickets that are dropped while
// their runtime ends.

#include <flotilla/flotilla.hpp>

#include <array>
#include <atomic>
#include <barrier>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/guest_test.hpp"

namespace flotilla::test {
namespace {

class Tickets : public guest_test {
 protected:
  static runtime_options options() { return {.devices = "cpu:2", .workers = 0}; }
};

// regression: several threads could not safely call const functions of one ticket at the same time
TEST_F(Tickets, AreAskedByManyThreadsAtOnce) {
  runtime rt{options()};
  for (int round = 0; round < 20; ++round) {
    std::atomic<unsigned> ran_on{99};
    // This is a shared task, so its device is not known yet.
    ticket const shared =
        rt.submit([&](task_context& where) { ran_on = where.device().ordinal.value; });
    std::barrier together{3};
    std::array<std::optional<device_ordinal>, 3> seen;
    std::vector<std::thread> asking;
    for (std::optional<device_ordinal>& device : seen) {
      asking.emplace_back([&] {
        together.arrive_and_wait();
        static_cast<void>(shared.device());
        while (!shared.ready()) { static_cast<void>(shared.device()); }
        shared.wait();
        device = shared.device();
      });
    }
    for (std::thread& each : asking) { each.join(); }
    for (std::optional<device_ordinal> const& device : seen) {
      ASSERT_TRUE(device.has_value());
      EXPECT_EQ(device->value, ran_on);
    }
  }
}

// requirement: the ticket of a shared task still returns the task's device after the task has ended
TEST_F(Tickets, SayWhereAnEndedTaskRan) {
  runtime rt{options()};
  std::optional<device_ordinal> ran;
  ticket const done = rt.submit([&](task_context& where) { ran = where.device().ordinal; });
  done.wait();
  ASSERT_TRUE(done.device().has_value());
  EXPECT_EQ(done.device()->value, ran->value);
}

/// An error with a token. The token's use count shows whether a copy of the error still exists.
struct kept_error : std::runtime_error {
  explicit kept_error(std::shared_ptr<int> alive)
      : std::runtime_error{"kept for the ticket"}, token{std::move(alive)} {}
  std::shared_ptr<int> token;
};

// regression: a runtime and its tickets share a state. Sometimes the state was never freed, or was
// freed twice.
TEST_F(Tickets, GoWhileTheirRuntimeEnds) {
  constexpr int threads = 3;
  constexpr int each_has = 4;
  for (int round = 0; round < 30; ++round) {
    auto const token = std::make_shared<int>();  // copied into callables and errors
    std::atomic<int> ran{0};
    std::optional<runtime> rt{options()};
    std::vector<std::vector<ticket>> tickets(threads);
    for (std::vector<ticket>& some : tickets) {
      // There are no workers, so the destructor of the runtime drains this thread's inbox.
      std::thread{[&] {
        for (int i = 0; i < each_has; ++i) {
          some.push_back(rt->submit([i, token, &ran](task_context&) {
            ++ran;
            if (i % 2 == 0) { throw kept_error{token}; }
          }));
        }
      }}.join();
    }
    std::barrier together{threads + 1};
    std::vector<std::thread> dropping;
    for (std::vector<ticket>& some : tickets) {
      dropping.emplace_back([&] {
        together.arrive_and_wait();
        while (!some.empty()) { some.pop_back(); }
      });
    }
    together.arrive_and_wait();
    rt.reset();
    for (std::thread& each : dropping) { each.join(); }
    EXPECT_EQ(ran, threads * each_has);
    EXPECT_EQ(token.use_count(), 1) << "a callable or an error was not freed";
  }
}

// requirement: a ticket keeps its error after the runtime has ended
TEST_F(Tickets, KeepTheirErrorBeyondTheRuntime) {
  ticket bad;
  {
    runtime rt{options()};
    bad = rt.submit([](task_context&) { throw std::runtime_error{"too late"}; });
  }
  EXPECT_TRUE(bad.ready());
  EXPECT_THROW(bad.wait(), std::runtime_error);
  EXPECT_THROW(bad.wait(), std::runtime_error);
}

}  // namespace
}  // namespace flotilla::test
