// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Large numbers of tickets. They live for a long time, many threads wait for them at the same time,
// or they are destroyed together with their runtime.

#include <array>
#include <atomic>
#include <barrier>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class Tickets : public guest_test {};

struct numbered_error : std::runtime_error {
  explicit numbered_error(std::size_t number) : std::runtime_error{"numbered"}, id{number} {}
  std::size_t id;
};

// stress: a ticket still has the result of its own task after other tasks have reused the task's
// slot
TEST_F(Tickets, HeldTicketsAnswerForTheirTasksWhileSlotsAreReused) {
  FLOTILLA_NEED_DEVICES(1);
  std::size_t const tasks = scaled(10'000'000, 20'000), every = 10,
                    failing = tasks / 100 / every * every;
  int const devices = std::min(2, devices_there());
  runtime rt{{.devices = device_spec(devices), .workers = 2}};
  test_program const program{rt};
  launch const nothing = program.nothing.with_shape({1}, {1})();
  std::vector<ticket> held;
  held.reserve(tasks / every + 1);
  for (std::size_t id = 0; id < tasks; ++id) {
    device_ordinal const device{static_cast<unsigned>(id) % static_cast<unsigned>(devices)};
    if (id % every != 0) {
      (void)rt.submit(nothing, {.device = device});
    } else if (id % failing == 0) {
      held.push_back(
          rt.submit([id](task_context&) { throw numbered_error{id}; }, {.device = device}));
    } else {
      held.push_back(rt.submit(nothing, {.device = device}));
    }
  }
  rt.wait_idle();
  std::size_t open = 0, wrong = 0, failed = 0;
  for (std::size_t i = 0; i < held.size(); ++i) {
    open += !held[i].ready();
    try {
      held[i].wait();
      wrong += i * every % failing == 0;
    } catch (numbered_error const& error) {
      ++failed;
      wrong += error.id != i * every;
    }
  }
  EXPECT_EQ(open, 0u);
  EXPECT_EQ(wrong, 0u) << "some tickets had the result of another task";
  EXPECT_GE(failed, 100u);
  std::uint64_t ended = 0;
  for (device const& each : rt.devices()) { ended += rt.counters(each).tasks; }
  EXPECT_EQ(ended, tasks);
}

// stress: threads destroy tickets of open and of ended tasks while another thread destroys the
// runtime. Every task still runs once, and every callable and driver handle is destroyed
TEST_F(Tickets, TicketsMayBeDroppedWhileTheirRuntimeEnds) {
  FLOTILLA_NEED_DEVICES(1);
  constexpr std::size_t threads = 4, tickets_per_thread = 16;
  std::size_t const rounds = on_gpus() ? 20 : scaled(500, 50);
  std::size_t const handles = live_handles();
  for (std::size_t round = 0; round < rounds; ++round) {
    std::atomic<std::size_t> ran{0};
    auto const owned = std::make_shared<int>(0);
    std::array<std::vector<ticket>, threads> held;
    std::vector<std::jthread> team;
    std::barrier<> together{threads + 1};
    {
      runtime rt{{.devices = device_spec(1), .workers = static_cast<int>(round % 2)}};
      for (std::size_t i = 0; i < threads * tickets_per_thread; ++i) {
        held[i % threads].push_back(rt.submit([&ran, owned](task_context&) { ++ran; }));
      }
      for (std::vector<ticket>& mine : held) {
        team.emplace_back([&mine, &together, waits = team.size() % 2 == 0] {
          // No thread may be inside a wait while the runtime is destroyed, so this wait must return
          // before the barrier.
          if (waits) { mine[tickets_per_thread / 2].wait(); }
          together.arrive_and_wait();
          mine.clear();
        });
      }
      together.arrive_and_wait();
    }
    team.clear();
    ASSERT_EQ(ran, threads * tickets_per_thread) << "round " << round;
    ASSERT_EQ(owned.use_count(), 1) << "a callable was not destroyed in round " << round;
    ASSERT_EQ(live_handles(), handles) << "round " << round;
  }
}

// stress: many threads wait for the same tickets in different orders and with different policies,
// and every wait returns
TEST_F(Tickets, ManyThreadsWaitForTheSameTickets) {
  FLOTILLA_NEED_DEVICES(1);
  int const devices = std::min(4, devices_there());
  std::size_t const tasks = scaled(20'000, 500);
  for (int const workers : {0, 2}) {
    runtime rt{{.devices = device_spec(devices), .workers = workers}};
    test_program const program{rt};
    launch const nothing = program.nothing.with_shape({1}, {1})();
    std::vector<ticket> all;
    for (std::size_t i = 0; i < tasks; ++i) {
      device_ordinal const device{static_cast<unsigned>(i) % static_cast<unsigned>(devices)};
      all.push_back(i % 50 == 0 ? rt.submit([](task_context&) {}, {.device = device})
                                : rt.submit(nothing, {.device = device}));
    }
    std::atomic<std::size_t> waits{0};
    constexpr unsigned threads = 8;
    {
      std::vector<std::jthread> team;
      for (unsigned t = 0; t < threads; ++t) {
        team.emplace_back([&, t] {
          constexpr wait_policy how[] = {wait_policy::automatic, wait_policy::spin,
                                         wait_policy::yield, wait_policy::blocking};
          std::minstd_rand random{t + 1};
          for (std::size_t i = 0; i < tasks; ++i) {
            ticket const& each = all[t % 2 == 0 ? i : tasks - 1 - i];
            switch (random() % 3) {
              case 0: each.wait(how[t % 4]); break;
              case 1:
                while (!each.wait_for(std::chrono::microseconds{random() % 50})) {}
                break;
              default:
                if (!each.ready()) { each.wait(); }
                break;
            }
            ++waits;
          }
        });
      }
    }
    EXPECT_EQ(waits, threads * tasks);
  }
}

}  // namespace
}  // namespace flotilla::test
