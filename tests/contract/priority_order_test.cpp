// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The order in which tasks of different priorities run.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

/// The tests have no workers, and a CPU device runs one kernel at a time. Therefore the order of
/// tasks is deterministic.
class PriorityOrder : public guest_test {
 protected:
  static runtime_options options(int devices = 1) {
    return {.devices = "cpu:" + std::to_string(devices), .workers = 0};
  }
  /// Pumps 20 times, which launches every task that can be launched.
  static void pump(runtime& rt) {
    for (int i = 0; i < 20; ++i) { static_cast<void>(rt.pump()); }
  }
  static std::vector<std::uint32_t> read(runtime& rt, device_buffer<std::uint32_t> const& from) {
    std::vector<std::uint32_t> host(from.size());
    rt.submit(from.copy_to(host)).wait();
    return host;
  }
  /// Runs a kernel on every device while this object lives. Each CPU device runs one kernel at a
  /// time, so kernels that are launched meanwhile do not start.
  class busy {
   public:
    busy(runtime& rt, test_program const& program) {
      for (device const& each : rt.devices()) {
        held_word const& held = held_.emplace_back(rt);
        static_cast<void>(
            rt.submit(held.launch_of(program), {.device = each.ordinal, .batch = false}));
      }
      EXPECT_TRUE(eventually([&] {
        static_cast<void>(rt.pump());
        return std::all_of(held_.begin(), held_.end(),
                           [](held_word const& each) { return each.started(); });
      }));
    }

   private:
    std::deque<held_word> held_;
  };
};

// requirement: an urgent launch overtakes launches that have not started on the device, even if a
// flood of less urgent launches has filled all lanes of the flood's priority
TEST_F(PriorityOrder, UrgentLaunchesOvertakeAFlood) {
  FLOTILLA_NEED_CPU_DRIVER();
  constexpr unsigned flood = 9000;  // more launches than a device can have in flight
  runtime rt{options()};
  test_program const program{rt};
  auto const take_turn = program.loaded.kernel<std::uint32_t*, std::uint32_t>("take_turn");
  device_buffer<std::uint32_t> turns{rt, device_ordinal{0}, 1 + flood + 30};
  rt.submit(turns.fill(0)).wait();
  {
    busy const devices{rt, program};
    for (unsigned i = 0; i < flood; ++i) {
      static_cast<void>(rt.submit(take_turn.with_shape({1}, {1})(turns, i)));
    }
    pump(rt);
    for (unsigned i = 0; i < 10; ++i) {
      for (int const priority : {-1, -3, -2}) {
        auto const id = flood + 10 * static_cast<unsigned>(-priority - 1) + i;
        static_cast<void>(
            rt.submit(take_turn.with_shape({1}, {1})(turns, id), {.priority = priority}));
      }
    }
    pump(rt);
  }
  rt.wait_idle();
  std::vector<std::uint32_t> const ran = read(rt, turns);
  ASSERT_EQ(ran[0], flood + 30);
  for (unsigned level = 0; level < 3; ++level) {
    for (unsigned i = 0; i < 10; ++i) {
      std::uint32_t const turn = ran[1 + flood + 10 * level + i];
      EXPECT_GT(turn, 10 * (2 - level)) << "priority -" << level + 1;
      EXPECT_LE(turn, 10 * (3 - level)) << "priority -" << level + 1;
    }
  }
}

// requirement
TEST_F(PriorityOrder, UrgentReplayOvertakesAFlood) {
  FLOTILLA_NEED_CPU_DRIVER();
  constexpr unsigned flood = 1000;
  runtime rt{options()};
  test_program const program{rt};
  auto const take_turn = program.loaded.kernel<std::uint32_t*, std::uint32_t>("take_turn");
  device_buffer<std::uint32_t> turns{rt, device_ordinal{0}, 1 + flood + 1};
  rt.submit(turns.fill(0)).wait();
  recording repeated{rt};
  repeated.add(take_turn.with_shape({1}, {1})(turns, flood));
  repeated.finish();
  {
    busy const devices{rt, program};
    for (unsigned i = 0; i < flood; ++i) {
      static_cast<void>(rt.submit(take_turn.with_shape({1}, {1})(turns, i)));
    }
    pump(rt);
    static_cast<void>(repeated.replay({.priority = -1}));
    pump(rt);
  }
  rt.wait_idle();
  EXPECT_EQ(read(rt, turns)[1 + flood], 1u);
}

// requirement: devices pull tasks from the shared queue in order of priority
TEST_F(PriorityOrder, SharedTasksArePulledInOrderOfPriority) {
  std::vector<int> ran;
  runtime rt{options(2)};
  for (int const priority : {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -2, -1, -2}) {
    static_cast<void>(rt.submit([&ran, priority](task_context&) { ran.push_back(priority); },
                                {.priority = priority}));
  }
  rt.wait_idle();
  ASSERT_EQ(ran.size(), 14u);
  EXPECT_EQ((std::vector(ran.begin(), ran.begin() + 4)), (std::vector{-2, -2, -1, -1}));
}

// requirement: a device takes urgent tasks from the shared queue even if it has no room for other
// shared tasks
TEST_F(PriorityOrder, UrgentSharedTaskFindsRoomOnFullDevices) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options(2)};
  test_program const program{rt};
  {
    busy const devices{rt, program};
    std::vector<ticket> flood;
    for (int i = 0; i < 5000; ++i) {
      flood.push_back(rt.submit(program.nothing.with_shape({1}, {1})()));
    }
    pump(rt);
    ASSERT_FALSE(flood.back().device().has_value()) << "the flood did not fill the devices";
    ticket const urgent = rt.submit(program.nothing.with_shape({1}, {1})(), {.priority = -1});
    pump(rt);
    EXPECT_TRUE(urgent.device().has_value());
    EXPECT_FALSE(flood.back().device().has_value());
  }
  rt.wait_idle();
}

// regression: a device took shared tasks of a priority only if tasks of higher priorities left
// room. So a flood of tasks with higher priorities starved the other tasks
TEST_F(PriorityOrder, SharedFloodLeavesRoomForOtherLevels) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options(2)};
  test_program const program{rt};
  launch const nothing = program.nothing.with_shape({1}, {1})();
  {
    busy const devices{rt, program};
    for (int i = 0; i < 3000; ++i) {
      static_cast<void>(rt.submit(nothing, {.priority = i % 2 == 0 ? -1 : -5}));
    }
    ticket const ordinary = rt.submit(nothing);
    ticket const between = rt.submit(nothing, {.priority = -3});
    pump(rt);
    EXPECT_TRUE(ordinary.device().has_value());
    EXPECT_TRUE(between.device().has_value());
  }
  rt.wait_idle();
}

// regression: if an urgent callable was submitted during another callable, the urgent one could run
// last. This happened if the submitting thread had never submitted a task of that priority before
TEST_F(PriorityOrder, UrgentCallableSubmittedMeanwhileRunsNext) {
  std::vector<int> ran;
  runtime rt{options()};
  auto const append = [&ran](int value) {
    return [&ran, value](task_context&) { ran.push_back(value); };
  };
  static_cast<void>(rt.submit([&](task_context&) {
    ran.push_back(0);
    std::thread{[&] { static_cast<void>(rt.submit(append(-1), {.priority = -1})); }}.join();
  }));
  for (int i = 1; i < 10; ++i) { static_cast<void>(rt.submit(append(i))); }
  rt.wait_idle();
  ASSERT_EQ(ran.size(), 11u);
  EXPECT_EQ((std::vector(ran.begin(), ran.begin() + 3)), (std::vector{0, -1, 1}));
}

// regression: an urgent callable ran last if its predecessor ended during the pass
TEST_F(PriorityOrder, UrgentCallableRunsNextWhenItsPredecessorEnds) {
  std::vector<int> ran;
  runtime rt{options()};
  auto const append = [&ran](int value) {
    return [&ran, value](task_context&) { ran.push_back(value); };
  };
  ticket const first = rt.submit(append(0));
  for (int i = 1; i < 10; ++i) { static_cast<void>(rt.submit(append(i))); }
  static_cast<void>(rt.submit(append(-5), {.after = {first}, .priority = -5}));
  rt.wait_idle();
  ASSERT_EQ(ran.size(), 11u);
  EXPECT_EQ((std::vector(ran.begin(), ran.begin() + 3)), (std::vector{0, -5, 1}));
}

// regression: each urgent callable submitted the next urgent callable. Less urgent callables never
// ran, because each submit ended the pass
TEST_F(PriorityOrder, CallablesOfOneLevelDoNotStarveOthers) {
  std::vector<int> ran;
  int left = 50;
  std::function<void()> again;
  runtime rt{options()};
  auto const submit_again = [&] {
    static_cast<void>(rt.submit([&again](task_context&) { again(); }, {.priority = -3}));
  };
  again = [&] {
    ran.push_back(-3);
    if (--left > 0) { submit_again(); }
  };
  static_cast<void>(rt.submit([&ran](task_context&) { ran.push_back(0); }));
  submit_again();
  rt.wait_idle();
  ASSERT_EQ(ran.size(), 51u);
  EXPECT_LT(std::find(ran.begin(), ran.end(), 0) - ran.begin(), 10)
      << "the callable of priority 0 must run before the tenth urgent callable";
}

// regression: copies of pageable memory ran in the order of submission and ignored their priorities
TEST_F(PriorityOrder, PageableCopiesGoInOrderOfPriority) {
  runtime rt{options()};
  std::vector<std::byte> large(16u << 20), small(4096);
  device_buffer<std::byte> to{rt, device_ordinal{0}, large.size()};
  device_buffer<std::byte> other{rt, device_ordinal{0}, small.size()};
  std::vector<ticket> before;
  for (int i = 0; i < 3; ++i) { before.push_back(rt.submit(to.copy_from(large))); }
  static_cast<void>(rt.pump());
  ticket const urgent = rt.submit(other.copy_from(small), {.priority = -5});
  urgent.wait();
  EXPECT_FALSE(before.back().ready());
  rt.wait_idle();
}

// requirement: for the first task of a priority, the runtime creates streams with this priority. If
// the driver refuses to create a stream, only that task fails
TEST_F(PriorityOrder, FailedStreamCreationFailsTheTask) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options()};
  test_program const program{rt};
  launch const nothing = program.nothing.with_shape({1}, {1})();
  testing::fail_call("cuStreamCreateWithPriority", 1, driver_status::out_of_memory);
  ticket const refused = rt.submit(nothing, {.priority = -2});
  EXPECT_THAT(thrown<driver_error>([&] { refused.wait(); }),
              AllOf(HasSubstr("cuStreamCreateWithPriority"), HasSubstr("kernel 'nothing'")));
  testing::clear_faults();
  EXPECT_NO_THROW(rt.submit(nothing, {.priority = -2}).wait());
  EXPECT_NO_THROW(rt.submit(nothing).wait());

  testing::fail_call("cuStreamCreateWithPriority", 1, driver_status::out_of_memory);
  ticket const callable = rt.submit([](task_context&) {}, {.priority = -4});
  EXPECT_THAT(thrown<driver_error>([&] { callable.wait(); }),
              HasSubstr("cuStreamCreateWithPriority"));
  testing::clear_faults();
  EXPECT_NO_THROW(rt.submit([](task_context&) {}, {.priority = -4}).wait());
}

}  // namespace
}  // namespace flotilla::test
