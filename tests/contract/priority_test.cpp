// What is urgent goes first: on the host, and on the device.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

class Priority : public contract_test {};
FLOTILLA_CONTRACT(Priority);

// requirement: what has come and not begun begins in the order of priorities
TEST_P(Priority, CallablesBeginInItsOrder) {
  gate door;
  std::atomic<bool> inside{false};
  std::thread holder{[&] {
    rt().submit(
            [&](task_context&) {
              inside = true;
              door.pass();
            },
            {.device = last()})
        .wait();
  }};
  std::vector<int> ran;
  {
    opens_at_end const opens{door};
    ASSERT_TRUE(eventually([&] { return inside.load(); }));
    for (int const priority : {0, -1, 3, -9, -3, 0, -1, -5, -3, 0}) {
      static_cast<void>(
          rt().submit([&ran, priority](task_context&) { ran.push_back(priority); },  // one at a time: the lease
                      {.device = last(), .priority = priority}));
    }
  }
  holder.join();
  rt().wait_idle();
  ASSERT_EQ(ran.size(), 10u);
  EXPECT_EQ(std::min(ran[0], ran[1]), -9);
  EXPECT_EQ(std::max(ran[0], ran[1]), -5) << "what is outside of the range is as its end";
  EXPECT_EQ((std::vector(ran.begin() + 2, ran.begin() + 6)), (std::vector{-3, -3, -1, -1}));
}

// requirement: a callable's stream has its task's priority
TEST_P(Priority, IsThatOfTheStream) {
  for (int const asked : {0, -1, -4, -5, -100, 7}) {
    int least = 1, greatest = 1, seen = 1;
    rt().submit(
            [&](task_context& here) {
              ASSERT_EQ(driver_in_use().ctx_get_stream_priority_range(&least, &greatest), CUDA_SUCCESS);
              ASSERT_EQ(driver_in_use().stream_get_priority(here.stream(), &seen), CUDA_SUCCESS);
            },
            {.device = last(), .priority = asked})
        .wait();
    EXPECT_EQ(seen, std::clamp(asked, greatest, least)) << asked;
  }
}

// requirement: priority is no order. What is behind another task stays so, whatever both have
TEST_P(Priority, ChainsKeepTheirOrder) {
  std::vector<device_word> values;
  for (device_ordinal const device : ordinals()) { values.emplace_back(rt(), device, 1); }
  std::array<std::uint32_t, 4> expected{1, 1, 1, 1};
  std::vector<ticket> before(values.size());
  for (std::uint32_t i = 0; i < 300; ++i) {
    std::size_t const chain = i % values.size();
    task_options how{.priority = -static_cast<int>(i * 7 % 6)};
    if (before[chain].valid()) { how.after = {before[chain]}; }
    before[chain] = rt().submit(program().step.on({1}, {1})(values[chain].buffer(), 3u, i), how);
    expected[chain] = expected[chain] * 3 + i;
  }
  for (std::size_t i = 0; i < values.size(); ++i) { EXPECT_EQ(values[i].read({before[i]}), expected[i]); }
}

// requirement: urgent tasks, too, run once, from many threads, for one device or for any
TEST_P(Priority, TasksOfAllRunOnce) {
  constexpr unsigned threads = 4;
  constexpr unsigned each_has = 500;
  std::vector<device_buffer<std::uint32_t>> counters;
  for (device_ordinal const device : ordinals()) {
    counters.emplace_back(rt(), device, threads * each_has);
    rt().submit(counters.back().fill(0)).wait();
  }
  auto const count = program().loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  std::atomic<unsigned> called{0};
  std::vector<std::thread> all;
  for (unsigned thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      for (unsigned i = 0; i < each_has; ++i) {
        unsigned const id = thread * each_has + i;
        int const priority = -static_cast<int>(id % 6);
        auto const& on = counters[id % counters.size()];
        static_cast<void>(rt().submit(count.on({1}, {1})(on, id), {.priority = priority}));
        if (i % 10 == 0) {
          static_cast<void>(rt().submit([&](task_context&) { ++called; }, {.priority = priority}));
        }
      }
    });
  }
  for (std::thread& each : all) { each.join(); }
  rt().wait_idle();
  EXPECT_EQ(called, threads * each_has / 10);
  for (std::size_t d = 0; d < counters.size(); ++d) {
    std::vector<std::uint32_t> ran(counters[d].size());
    rt().submit(counters[d].copy_to(ran)).wait();
    for (std::size_t id = 0; id < ran.size(); ++id) { ASSERT_EQ(ran[id], id % counters.size() == d ? 1u : 0u) << id; }
  }
}

/// Where all happens on this thread, and kernels of a CPU device run one at a time: what goes before what is seen.
class PriorityInTurn : public guest_test {
 protected:
  static runtime_options options(int devices = 1) { return {.devices = "cpu:" + std::to_string(devices), .workers = 0}; }
  /// Has everything launched that can be.
  static void pump(runtime& rt) {
    for (int i = 0; i < 20; ++i) { static_cast<void>(rt.pump()); }
  }
  static std::vector<std::uint32_t> read(runtime& rt, device_buffer<std::uint32_t> const& from) {
    std::vector<std::uint32_t> host(from.size());
    rt.submit(from.copy_to(host)).wait();
    return host;
  }
  /// Keeps every device busy while it lives: what is launched meanwhile does not begin.
  class busy {
   public:
    busy(runtime& rt, test_program const& program) {
      for (device const& each : rt.devices()) {
        held_word const& held = held_.emplace_back(rt);
        static_cast<void>(rt.submit(held.launch_of(program), {.device = each.ordinal, .batch = false}));
      }
      EXPECT_TRUE(eventually([&] {
        static_cast<void>(rt.pump());
        return std::all_of(held_.begin(), held_.end(), [](held_word const& each) { return each.started(); });
      }));
    }

   private:
    std::deque<held_word> held_;
  };
};

// requirement: launches go before what is launched already and has not begun, and a flood that has filled its lanes
// leaves them room
TEST_F(PriorityInTurn, LaunchesGoBeforeAFlood) {
  FLOTILLA_NEED_CPU_DRIVER();
  constexpr unsigned flood = 9000;  // more than may be in flight
  runtime rt{options()};
  test_program const program{rt};
  auto const take_turn = program.loaded.kernel<std::uint32_t*, std::uint32_t>("take_turn");
  device_buffer<std::uint32_t> const turns{rt, device_ordinal{0}, 1 + flood + 30};
  rt.submit(turns.fill(0)).wait();
  {
    busy const meanwhile{rt, program};
    for (unsigned i = 0; i < flood; ++i) { static_cast<void>(rt.submit(take_turn.on({1}, {1})(turns, i))); }
    pump(rt);
    for (unsigned i = 0; i < 10; ++i) {
      for (int const priority : {-1, -3, -2}) {
        auto const id = flood + 10 * static_cast<unsigned>(-priority - 1) + i;
        static_cast<void>(rt.submit(take_turn.on({1}, {1})(turns, id), {.priority = priority}));
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
TEST_F(PriorityInTurn, ReplaysGoBeforeAFlood) {
  FLOTILLA_NEED_CPU_DRIVER();
  constexpr unsigned flood = 1000;
  runtime rt{options()};
  test_program const program{rt};
  auto const take_turn = program.loaded.kernel<std::uint32_t*, std::uint32_t>("take_turn");
  device_buffer<std::uint32_t> const turns{rt, device_ordinal{0}, 1 + flood + 1};
  rt.submit(turns.fill(0)).wait();
  recording repeated{rt};
  repeated.add(take_turn.on({1}, {1})(turns, flood));
  repeated.finish();
  {
    busy const meanwhile{rt, program};
    for (unsigned i = 0; i < flood; ++i) { static_cast<void>(rt.submit(take_turn.on({1}, {1})(turns, i))); }
    pump(rt);
    static_cast<void>(repeated.replay({.priority = -1}));
    pump(rt);
  }
  rt.wait_idle();
  EXPECT_EQ(read(rt, turns)[1 + flood], 1u);
}

// requirement: the same of tasks that any device may take
TEST_F(PriorityInTurn, TasksForAnyDeviceArePulledInItsOrder) {
  std::vector<int> ran;
  runtime rt{options(2)};
  for (int const priority : {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -2, -1, -2}) {
    static_cast<void>(rt.submit([&ran, priority](task_context&) { ran.push_back(priority); }, {.priority = priority}));
  }
  rt.wait_idle();
  ASSERT_EQ(ran.size(), 14u);
  EXPECT_EQ((std::vector(ran.begin(), ran.begin() + 4)), (std::vector{-2, -2, -1, -1}));
}

// requirement: devices that are full of tasks for any take urgent ones all the same
TEST_F(PriorityInTurn, TasksForAnyDeviceFindRoomWhereThereIsNoneForOthers) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options(2)};
  test_program const program{rt};
  {
    busy const meanwhile{rt, program};
    std::vector<ticket> flood;
    for (int i = 0; i < 5000; ++i) { flood.push_back(rt.submit(program.nothing.on({1}, {1})())); }
    pump(rt);
    ASSERT_FALSE(flood.back().device().has_value()) << "nobody is full";
    ticket const urgent = rt.submit(program.nothing.on({1}, {1})(), {.priority = -1});
    pump(rt);
    EXPECT_TRUE(urgent.device().has_value());
    EXPECT_FALSE(flood.back().device().has_value());
  }
  rt.wait_idle();
}

// regression: the room of a level was what the levels above it left, and a flood that they refilled left none
TEST_F(PriorityInTurn, AFloodForAnyDeviceLeavesOthersTheirRoom) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options(2)};
  test_program const program{rt};
  launch const nothing = program.nothing.on({1}, {1})();
  {
    busy const meanwhile{rt, program};
    for (int i = 0; i < 3000; ++i) { static_cast<void>(rt.submit(nothing, {.priority = i % 2 == 0 ? -1 : -5})); }
    ticket const ordinary = rt.submit(nothing);
    ticket const between = rt.submit(nothing, {.priority = -3});
    pump(rt);
    EXPECT_TRUE(ordinary.device().has_value());
    EXPECT_TRUE(between.device().has_value());
  }
  rt.wait_idle();
}

// regression: what came while a callable ran went after all others that had come before it, where its thread had
// submitted nothing of that priority yet
TEST_F(PriorityInTurn, CallablesThatComeMeanwhileGoNext) {
  std::vector<int> ran;
  runtime rt{options()};
  auto const say = [&ran](int what) { return [&ran, what](task_context&) { ran.push_back(what); }; };
  static_cast<void>(rt.submit([&](task_context&) {
    ran.push_back(0);
    std::thread{[&] { static_cast<void>(rt.submit(say(-1), {.priority = -1})); }}.join();
  }));
  for (int i = 1; i < 10; ++i) { static_cast<void>(rt.submit(say(i))); }
  rt.wait_idle();
  ASSERT_EQ(ran.size(), 11u);
  EXPECT_EQ((std::vector(ran.begin(), ran.begin() + 3)), (std::vector{0, -1, 1}));
}

// regression: and so did what could begin only now
TEST_F(PriorityInTurn, CallablesThatMayGoOnGoNext) {
  std::vector<int> ran;
  runtime rt{options()};
  auto const say = [&ran](int what) { return [&ran, what](task_context&) { ran.push_back(what); }; };
  ticket const first = rt.submit(say(0));
  for (int i = 1; i < 10; ++i) { static_cast<void>(rt.submit(say(i))); }
  static_cast<void>(rt.submit(say(-5), {.after = {first}, .priority = -5}));
  rt.wait_idle();
  ASSERT_EQ(ran.size(), 11u);
  EXPECT_EQ((std::vector(ran.begin(), ran.begin() + 3)), (std::vector{0, -5, 1}));
}

// regression: callables of a level ended the pass for others of that level, and less urgent ones never ran
TEST_F(PriorityInTurn, CallablesOfOneLevelDoNotHoldUpOthers) {
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
  while (left > 0) { rt.wait_idle(); }  // it waits for what was submitted before
  rt.wait_idle();
  ASSERT_EQ(ran.size(), 51u);
  EXPECT_LT(std::find(ran.begin(), ran.end(), 0) - ran.begin(), 10) << "each comes while the one before it runs";
}

// regression: copies of pageable memory went in the order in which they had come
TEST_F(PriorityInTurn, PageableCopiesGoInItsOrder) {
  runtime rt{options()};
  std::vector<std::byte> large(16u << 20), small(4096);
  device_buffer<std::byte> const to{rt, device_ordinal{0}, large.size()};
  device_buffer<std::byte> const other{rt, device_ordinal{0}, small.size()};
  std::vector<ticket> before;
  for (int i = 0; i < 3; ++i) { before.push_back(rt.submit(to.copy_from(large))); }
  static_cast<void>(rt.pump());
  ticket const urgent = rt.submit(other.copy_from(small), {.priority = -5});
  urgent.wait();
  EXPECT_FALSE(before.back().ready());
  rt.wait_idle();
}

// requirement: a stream of that priority is made when it is needed; what the driver says then is the task's
TEST_F(PriorityInTurn, StreamsThatCannotBeMadeFailTheTask) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options()};
  test_program const program{rt};
  launch const nothing = program.nothing.on({1}, {1})();
  inject("fail=cuStreamCreateWithPriority@1:CUDA_ERROR_OUT_OF_MEMORY");
  ticket const refused = rt.submit(nothing, {.priority = -2});
  EXPECT_THAT(thrown<driver_error>([&] { refused.wait(); }),
              AllOf(HasSubstr("cuStreamCreateWithPriority"), HasSubstr("kernel 'nothing'")));
  clear_injection();
  EXPECT_NO_THROW(rt.submit(nothing, {.priority = -2}).wait());
  EXPECT_NO_THROW(rt.submit(nothing).wait());

  inject("fail=cuStreamCreateWithPriority@1:CUDA_ERROR_OUT_OF_MEMORY");
  ticket const callable = rt.submit([](task_context&) {}, {.priority = -4});
  EXPECT_THAT(thrown<driver_error>([&] { callable.wait(); }), HasSubstr("cuStreamCreateWithPriority"));
  clear_injection();
  EXPECT_NO_THROW(rt.submit([](task_context&) {}, {.priority = -4}).wait());
}

}  // namespace
}  // namespace flotilla::test
