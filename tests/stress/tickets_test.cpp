// Tickets: held by the million, and waited for by many threads at once.

#include <array>
#include <atomic>
#include <barrier>
#include <random>
#include <stdexcept>
#include <thread>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
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

// stress: slots are used again ten times over while old tickets are held; each still answers for
// its own task
TEST_F(Tickets, AMillionHeldWhileTenMillionTasksRun) {
  FLOTILLA_NEED_DEVICES(1);
  std::size_t const tasks = scaled(10'000'000, 20'000), every = 10,
                    failing = tasks / 100 / every * every;
  int const devices = std::min(2, devices_there());
  runtime rt{{.devices = device_spec(devices), .workers = 2}};
  test_program const program{rt};
  launch const nothing = program.nothing.on({1}, {1})();
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
  EXPECT_EQ(wrong, 0u) << "tickets that answered for another task";
  EXPECT_GE(failed, 100u);
  std::uint64_t ended = 0;
  for (device const& each : rt.devices()) { ended += rt.counters(each).tasks; }
  EXPECT_EQ(ended, tasks);
}

// stress: of open tasks, of ended ones, and of those that end just then; the last one frees what all of them look at
TEST_F(Tickets, DroppedByManyThreadsWhileTheirRuntimeEnds) {
  FLOTILLA_NEED_DEVICES(1);
  constexpr std::size_t threads = 4, each = 16;
  std::size_t const rounds = on_gpus() ? 20 : scaled(500, 50);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::array<std::vector<ticket>, threads> held;
    std::vector<std::jthread> crew;
    std::barrier<> together{threads + 1};
    {
      runtime rt{{.devices = device_spec(1), .workers = static_cast<int>(round % 2)}};
      for (std::size_t i = 0; i < threads * each; ++i) {
        held[i % threads].push_back(rt.submit([](task_context&) {}));
      }
      for (std::vector<ticket>& mine : held) {
        crew.emplace_back([&mine, &together, waits = crew.size() % 2 == 0] {
          if (waits) { mine[each / 2].wait(); }  // before: a wait must have returned when the runtime ends
          together.arrive_and_wait();
          mine.clear();
        });
      }
      together.arrive_and_wait();
    }
  }
}

// stress
TEST_F(Tickets, ManyThreadsWaitForTheSameOnes) {
  FLOTILLA_NEED_DEVICES(1);
  int const devices = std::min(4, devices_there());
  std::size_t const tasks = scaled(20'000, 500);
  for (int const workers : {0, 2}) {
    runtime rt{{.devices = device_spec(devices), .workers = workers}};
    test_program const program{rt};
    launch const nothing = program.nothing.on({1}, {1})();
    std::vector<ticket> all;
    for (std::size_t i = 0; i < tasks; ++i) {
      device_ordinal const device{static_cast<unsigned>(i) % static_cast<unsigned>(devices)};
      all.push_back(i % 50 == 0 ? rt.submit([](task_context&) {}, {.device = device})
                                : rt.submit(nothing, {.device = device}));
    }
    std::atomic<std::size_t> waits{0};
    constexpr unsigned threads = 8;
    {
      std::vector<std::jthread> crew;
      for (unsigned t = 0; t < threads; ++t) {
        crew.emplace_back([&, t] {
          constexpr schedule how[] = {schedule::automatic, schedule::spin, schedule::yield,
                                      schedule::blocking};
          std::minstd_rand dice{t + 1};
          for (std::size_t i = 0; i < tasks; ++i) {
            ticket const& each = all[t % 2 == 0 ? i : tasks - 1 - i];
            switch (dice() % 3) {
              case 0: each.wait(how[t % 4]); break;
              case 1:
                while (!each.wait_for(std::chrono::microseconds{dice() % 50})) {}
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
