// Tickets seen by several threads at once, and tickets that go while their runtime does.

#include <flotilla/flotilla.hpp>

#include <barrier>
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

// regression: const calls of one ticket may run at once
TEST_F(Tickets, AreAskedByManyThreadsAtOnce) {
  runtime rt{options()};
  for (int round = 0; round < 20; ++round) {
    ticket const shared = rt.submit([](task_context&) {});  // for any device: which is not known yet
    std::barrier together{3};
    std::vector<std::thread> asking;
    for (int i = 0; i < 3; ++i) {
      asking.emplace_back([&] {
        together.arrive_and_wait();
        static_cast<void>(shared.device());
        while (!shared.ready()) { static_cast<void>(shared.device()); }
        shared.wait();
      });
    }
    for (std::thread& each : asking) { each.join(); }
  }
}

// requirement: a task for any device says where it ran, also when it is asked only afterwards
TEST_F(Tickets, SayWhereAnEndedTaskRan) {
  runtime rt{options()};
  std::optional<device_ordinal> ran;
  ticket const done = rt.submit([&](task_context& where) { ran = where.device().ordinal; });
  done.wait();
  ASSERT_TRUE(done.device().has_value());
  EXPECT_EQ(done.device()->value, ran->value);
}

// regression: whoever lets go last, the runtime or a ticket, frees what they share; and nobody before
TEST_F(Tickets, GoWhileTheirRuntimeEnds) {
  constexpr int threads = 3;
  constexpr int each_has = 4;
  for (int round = 0; round < 30; ++round) {
    std::optional<runtime> rt{options()};
    std::vector<std::vector<ticket>> tickets(threads);
    for (std::vector<ticket>& some : tickets) {
      std::thread{[&] {  // whose inbox may be drained by who ends the runtime
        for (int i = 0; i < each_has; ++i) {
          some.push_back(rt->submit([i](task_context&) {
            if (i % 2 == 0) { throw std::runtime_error{"kept for the ticket"}; }
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
  }
}

// requirement: an error is told as long as somebody may ask
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
