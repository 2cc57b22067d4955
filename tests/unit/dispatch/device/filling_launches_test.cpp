// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Launches that fill their device and have several predecessors: each of them is launched alone,
// and ends with an event instead of a number.

#include <chrono>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/child.hpp"
#include "support/readable.hpp"
#include "support/thrown.hpp"
#include "unit/dispatch/device/kernel_copies_fixture.hpp"

namespace flotilla::test {
namespace {

class FillingLaunches : public kernel_copies_test {
 protected:
  static constexpr device_ordinal other{1};
  static constexpr std::uint32_t blocks = 4096, threads = 32;
  static constexpr std::uint32_t all = blocks * threads;

  static runtime make_with(dispatch::tuning tuned) {
    return make({.devices = "cpu:2"}, std::move(tuned));
  }

  /// A runtime with two devices, which have measured the kernel.
  struct device_pair {
    runtime rt;
    test_program program{rt};
    host_buffer<std::uint32_t> count{rt, 1};
    std::uint32_t launched = 0;

    explicit device_pair(dispatch::tuning tuned = {}) : rt{make_with(tuned)} {
      count[0] = 0;
      for (int i = 0; i < 3; ++i) {
        rt.submit(wide(), {.device = device}).wait();
        rt.submit(wide(), {.device = other}).wait();
      }
    }
    /// A launch whose threads increment `count`.
    [[nodiscard]] launch wide() {
      ++launched;
      return program.add.with_shape({blocks}, {threads})(count.data(), 1u);
    }
    [[nodiscard]] launch narrow() { return program.nothing.with_shape({1}, {1})(); }
    /// Returns how many batches two launches with two predecessors become.
    template <class Make>
    [[nodiscard]] std::uint64_t batches_of_two(Make const& make_launch) {
      held_word word{rt};
      ticket const done = rt.submit(narrow(), {.device = device});
      done.wait();
      ticket const held = rt.submit(word.launch_of(program), {.device = device});
      EXPECT_TRUE(pumping(rt, [&] { return word.started(); }));
      std::uint64_t const before = batches(rt);
      std::vector<ticket> made;
      for (int i = 0; i < 2; ++i) {
        made.push_back(rt.submit(make_launch(), {.device = device, .after = {held, done}}));
      }
      word.release();
      for (ticket const& each : made) { each.wait(); }
      return batches(rt) - before;
    }
    [[nodiscard]] bool is_right() const { return count[0] == launched * all; }
  };
};

// requirement: tasks that follow one of these launches do not wait for the others
TEST_F(FillingLaunches, AreBatchesOfTheirOwn) {
  device_pair on;
  for (int i = 0; i < 3; ++i) { on.rt.submit(on.narrow(), {.device = device}).wait(); }
  EXPECT_EQ(on.batches_of_two([&] { return on.narrow(); }), 1u);
  EXPECT_EQ(on.batches_of_two([&] { return on.wide(); }), 2u);
  EXPECT_TRUE(on.is_right());
}

// requirement: launches that go alone are measured too, so short ones share batches again
TEST_F(FillingLaunches, ShareBatchesAgainIfTheyAreShort) {
  device_pair on{{.filling_launch_ns = 10e6F}};
  // Another kernel than the one that `on` has measured. It accesses no memory.
  auto const increment = on.program.loaded.kernel<std::uint32_t*, std::uint32_t>("increment_all");
  auto const make_launch = [&](std::uint32_t in_grid) {
    return increment.with_shape({in_grid}, {1})(on.count.data(), 0u);
  };
  for (int i = 0; i < 3; ++i) { on.rt.submit(make_launch(1'000'000), {.device = device}).wait(); }
  auto const multiprocessors = static_cast<std::uint32_t>(on.rt.devices()[0].multiprocessors);
  auto const make_short = [&] { return make_launch(32 * multiprocessors); };
  EXPECT_EQ(on.batches_of_two(make_short), 2u);
  EXPECT_TRUE(eventually([&] { return on.batches_of_two(make_short) == 1; }));
}

/// Launches a chain that alternates between the devices, behind a held task.
std::vector<ticket> launch_chain(auto& on, held_word& word, device_ordinal one,
                                 device_ordinal other) {
  ticket const done = on.rt.submit(on.narrow(), {.device = one});
  done.wait();
  std::vector<ticket> made;
  made.push_back(on.rt.submit(word.launch_of(on.program), {.device = one}));
  EXPECT_TRUE(pumping(on.rt, [&] { return word.started(); }));
  for (int i = 0; i < 4; ++i) {
    made.push_back(on.rt.submit(
        on.wide(), {.device = i % 2 == 0 ? one : other, .after = {made.back(), done}}));
  }
  return made;
}

// requirement: other devices wait for the event of such a launch
TEST_F(FillingLaunches, OtherLanesWaitForEvents) {
  device_pair on;
  held_word word{on.rt};
  testing::fail_call("cuStreamWaitEvent", 1, driver_status::invalid_value);
  std::vector<ticket> const made = launch_chain(on, word, device, other);
  for (int i = 0; i < 20; ++i) { on.rt.pump(); }
  word.release();
  made[1].wait();
  EXPECT_THAT(thrown<driver_error>([&] { made[2].wait(); }), HasSubstr("cuStreamWaitEvent"));
}

// requirement: nothing writes the numbers of these launches, because a write holds up the kernels
// of other streams
TEST_F(FillingLaunches, EndWithoutAWrite) {
  for (bool const is_wide : {true, false}) {
    device_pair on;
    held_word word{on.rt};
    ticket const done = on.rt.submit(on.narrow(), {.device = device});
    done.wait();
    ticket const held = on.rt.submit(word.launch_of(on.program), {.device = device});
    EXPECT_TRUE(pumping(on.rt, [&] { return word.started(); }));
    testing::fail_call("cuStreamWriteValue64", 1, driver_status::illegal_address);
    ticket const made = on.rt.submit(is_wide ? on.wide() : on.narrow(),
                                     {.device = device, .after = {held, done}, .batch = is_wide});
    for (int i = 0; i < 20; ++i) { on.rt.pump(); }
    word.release();
    if (is_wide) {
      made.wait();
      EXPECT_TRUE(on.is_right());
    } else {
      EXPECT_THROW(made.wait(), poisoned) << "other launches write their numbers";
    }
    testing::clear_faults();
  }
}

// requirement: the event descriptor becomes readable when such a launch has ended
TEST_F(FillingLaunches, MakeTheEventFdReadable) {
  device_pair on;
  int const descriptor = event_fd(on.rt);
  held_word word{on.rt};
  std::vector<ticket> const made = launch_chain(on, word, device, device);
  while (readable(descriptor, std::chrono::milliseconds{50})) { on.rt.pump(); }
  word.release();
  // `pump` runs only when the descriptor is readable, as in an event loop.
  bool is_open = true;
  while (is_open && readable(descriptor, std::chrono::seconds{5})) { is_open = on.rt.pump(); }
  EXPECT_FALSE(is_open) << "the descriptor is not readable, although tasks have ended";
  EXPECT_TRUE(on.is_right());
}

// requirement: a ticket is ready when its task has ended, even if no thread drives the device
TEST_F(FillingLaunches, AreReadyWhenTheyHaveEnded) {
  device_pair on;
  held_word word{on.rt};
  std::vector<ticket> const made = launch_chain(on, word, device, device);
  for (int i = 0; i < 20; ++i) { on.rt.pump(); }
  word.release();
  EXPECT_TRUE(eventually([&] { return made[1].ready(); }));
}

// requirement: whoever has waited for a task finds its predecessors ended
TEST_F(FillingLaunches, PredecessorsAreReadyBefore) {
  device_pair on;
  for (int round = 0; round < 20; ++round) {
    held_word word{on.rt};
    std::vector<ticket> const made = launch_chain(on, word, device, other);
    word.release();
    made.back().wait();
    for (ticket const& each : made) { EXPECT_TRUE(each.ready()); }
  }
  EXPECT_TRUE(on.is_right());
}

// requirement: the launch that faults is a suspect, although nobody knows that the launch before it
// has ended
TEST_F(FillingLaunches, SuspectsIncludeTheOneThatFaults) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    device_pair on;
    auto const increment = on.program.loaded.kernel<std::uint32_t*, std::uint32_t>("increment_all");
    auto const guilty = [&] {
      return increment.with_shape({blocks}, {threads})(on.count.data(), 0u);
    };
    for (int i = 0; i < 3; ++i) { on.rt.submit(guilty(), {.device = device}).wait(); }
    held_word word{on.rt};
    ticket const done = on.rt.submit(on.narrow(), {.device = device});
    done.wait();
    ticket const held = on.rt.submit(word.launch_of(on.program), {.device = device});
    EXPECT_TRUE(pumping(on.rt, [&] { return word.started(); }));
    ticket const first = on.rt.submit(on.wide(), {.device = device, .after = {held, done}});
    ticket const second = on.rt.submit(guilty(), {.device = device, .after = {first, done}});
    for (int i = 0; i < 20; ++i) { on.rt.pump(); }
    testing::fault_kernel(testing::cpu_device{0}, 2, driver_status::illegal_address);
    word.release();
    std::this_thread::sleep_for(std::chrono::milliseconds{200});  // no thread drives the device
    EXPECT_THAT(thrown<poisoned>([&] { second.wait(); }), HasSubstr("increment_all"));
  });
}

// requirement: if the driver records no event, the other lanes wait for the number
TEST_F(FillingLaunches, WithoutEventsLanesWaitForNumbers) {
  for (char const* const call : {"cuEventCreate", "cuEventRecord"}) {
    device_pair on;
    held_word word{on.rt};
    for (std::uint64_t i = 1; i < 5; ++i) {
      testing::fail_call(call, i, driver_status::out_of_memory);
    }
    std::vector<ticket> const made = launch_chain(on, word, device, other);
    word.release();
    for (ticket const& each : made) { each.wait(); }
    EXPECT_TRUE(on.is_right()) << call;
    testing::clear_faults();
  }
}

// requirement: copies between devices use a copy engine while the device is filled
TEST_F(FillingLaunches, CopiesUseCopyEnginesMeanwhile) {
  device_pair on;
  device_buffer<std::uint8_t> from{on.rt, other, small}, to{on.rt, device, small};
  on.rt.submit(from.fill(std::uint8_t{5})).wait();
  testing::fail_call("cuMemcpyPeerAsync", 1, driver_status::invalid_value);
  on.rt.submit(to.copy_from(from)).wait();  // by a kernel
  held_word word{on.rt};
  ticket const done = on.rt.submit(on.narrow(), {.device = device});
  done.wait();
  ticket const held = on.rt.submit(word.launch_of(on.program), {.device = device});
  EXPECT_TRUE(pumping(on.rt, [&] { return word.started(); }));
  ticket const filling = on.rt.submit(on.wide(), {.device = device, .after = {held, done}});
  on.rt.pump();
  ticket const copy = on.rt.submit(to.copy_from(from));
  on.rt.pump();
  word.release();
  filling.wait();
  EXPECT_THAT(thrown<driver_error>([&] { copy.wait(); }), HasSubstr("cuMemcpyPeerAsync"));
}

}  // namespace
}  // namespace flotilla::test
