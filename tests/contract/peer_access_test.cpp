// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Access of devices to the memory of each other: kernels that use buffers of another device, and
// direct copies.

#include "contract/peer_fixture.hpp"

namespace flotilla::test {
namespace {

class PeerAccess : public peer_test {};

// requirement: the runtime enables the access if and only if the driver says that the devices are
// peers
TEST_F(PeerAccess, IsEnabledWhereTheDriverSupportsIt) {
  start();
  context_driver const driver = context_driver::of(rt());
  for (device const& from : rt().devices()) {
    for (device const& to : rt().devices()) {
      bool const same = from.ordinal == to.ordinal;
      EXPECT_EQ(can_access_peer(rt(), from, to), same || driver.can_access_peer(from, to));
      EXPECT_EQ(why_no_peer_access(rt(), from, to).empty(), can_access_peer(rt(), from, to));
    }
  }
  EXPECT_THROW(static_cast<void>(can_access_peer(rt(), first, device_ordinal{2})), unknown_device);
  EXPECT_THROW(static_cast<void>(why_no_peer_access(rt(), third, first)), unknown_device);
}

// requirement: a kernel on each device reads a buffer of the other device
TEST_F(PeerAccess, KernelsReadBuffersOfTheOtherDevice) {
  start();
  FLOTILLA_NEED_PEERS();
  words a = word(first, 20), b = word(second, 21), to_a = word(first, 0), to_b = word(second, 0);
  ticket const on_first = rt().submit(copy(to_a, b));
  ticket const on_second = rt().submit(copy(to_b, a));
  on_first.wait();
  on_second.wait();
  EXPECT_EQ(read(to_a), 21u);
  EXPECT_EQ(read(to_b), 20u);
}

// requirement: a kernel on each device writes a buffer of the other device, and a later task on
// that device sees the value
TEST_F(PeerAccess, KernelsWriteBuffersOfTheOtherDevice) {
  start();
  FLOTILLA_NEED_PEERS();
  words value = word(first, 1);
  ticket last = rt().submit(value.fill(1));
  std::uint32_t expected = 1;
  for (std::uint32_t i = 0; i < 100; ++i) {
    launch const step = program_->step.with_shape({1}, {1})(value, 3u, i);
    last = rt().submit(step, {.device = device_ordinal{i % 2}, .after = {last}});
    expected = expected * 3 + i;
  }
  last.wait();
  EXPECT_EQ(read(value), expected);
}

// requirement
TEST_F(PeerAccess, CopiesOf64MiBArrive) {
  start();
  expect_copies_to_arrive((std::size_t{64} << 20) / sizeof(std::uint32_t));
}

// requirement: a launch runs on the device of its first buffer, or on the device that the task
// names, even if none of the buffers is there
TEST_F(PeerAccess, LaunchRunsOnTheDeviceOfItsFirstBuffer) {
  start();
  FLOTILLA_NEED_PEERS();
  words a = word(first, 5), b = word(second, 6);
  launch const to_first = copy(a, b), to_second = copy(b, a);
  EXPECT_EQ(to_first.device(), first);
  EXPECT_EQ(to_second.device(), second);
  // The counter can follow the end of the task a moment later.
  std::uint64_t before = ended_on(second);
  rt().submit(to_second).wait();
  EXPECT_TRUE(eventually([&] { return ended_on(second) == before + 1; }));
  before = ended_on(first);
  rt().submit(to_second, {.device = first}).wait();
  EXPECT_TRUE(eventually([&] { return ended_on(first) == before + 1; }));
  words there = word(second, 7), other = word(second, 8);
  before = ended_on(first);
  rt().submit(copy(there, other), {.device = first}).wait();
  EXPECT_TRUE(eventually([&] { return ended_on(first) == before + 1; }));
  EXPECT_EQ(read(there), 8u);
}

// requirement: the memory of a destroyed buffer is not freed before the tasks of other devices that
// use it have ended
TEST_F(PeerAccess, DestroyedBufferIsKeptForTasksOfTheOtherDevice) {
  start();
  FLOTILLA_NEED_PEERS();
  words to = word(first, 0);
  held_word held{rt()};
  ticket const head = rt().submit(held.launch_of(*program_), {.device = first});
  ticket last;
  {
    words there = word(second, 33);
    last = rt().submit(copy(to, there), {.after = {head}});
  }
  words const other = word(second, 44);  // would get the memory if it were free
  held.release();
  last.wait();
  EXPECT_EQ(read(to), 33u);
}

// requirement: the parts of one device have access to the memory of each other, and to the memory
// of all parts of other devices
TEST_F(PeerAccess, PartsOfDevicesHaveAccess) {
  start({.devices = on_gpus() ? "cuda:0/green:16*2,cuda:1/green:16*2" : "cpu:2/green:16*2"});
  ASSERT_EQ(rt().devices().size(), 4u);
  FLOTILLA_NEED_PEERS();
  words parts[] = {word(first, 1), word(second, 2), word(third, 3), word(device_ordinal{3}, 4)};
  for (words& to : parts) {
    for (words const& from : parts) {
      if (&from == &to) { continue; }
      rt().submit(copy(to, from)).wait();
      EXPECT_EQ(read(to), read(from));
    }
  }
}

// requirement: contexts from every source have access. A second runtime finds the access of a
// primary context already enabled
TEST_F(PeerAccess, WorksWithContextsOfEverySource) {
  context_driver const driver = on_gpus() ? context_driver::gpus() : context_driver::cpus(2);
  runtime_options options{.devices = device_spec(2)};
  options.settings.devices[0].context = context_source::primary();
  for (int second_time = 0; second_time < 2; ++second_time) {
    runtime const other{options};
    start(options);
    FLOTILLA_NEED_PEERS();
    {
      words a = word(first, 5), b = word(second, 6), to = word(first, 0);
      rt().submit(copy(to, b)).wait();
      EXPECT_EQ(read(to), 6u);
      rt().submit(copy(b, a)).wait();
      EXPECT_EQ(read(b), 5u);
    }
    program_.reset();
    rt_.reset();
  }
}

// regression: the access of contexts does not reach the memory of pools, so enable_peer did not
// reach any device_buffer
TEST_F(PeerAccess, EnablePeerReachesBuffers) {
  runtime_options options{.devices = device_spec(2)};
  options.settings.all.peer_access = false;
  start(options);
  context_driver const driver = context_driver::of(rt());
  if (!driver.can_access_peer(rt().devices()[0], rt().devices()[1])) {
    GTEST_SKIP() << "needs two devices that are peers";
  }
  std::vector<CUctx_st*> contexts(2);
  for (device_ordinal const each : {first, second}) {
    rt().submit([&](task_context& on) { contexts[each.value] = on.context(); }, {.device = each})
        .wait();
  }
  driver.adopt(contexts[0]).enable_peer(driver.adopt(contexts[1]));
  EXPECT_THAT(thrown<driver_error>(
                  [&] { driver.adopt(contexts[0]).enable_peer(driver.adopt(contexts[1])); }),
              HasSubstr("ALREADY_ENABLED"));
  words there = word(second, 0);
  rt().submit(program_->write.with_shape({1}, {1})(there.data(), 9u), {.device = first}).wait();
  EXPECT_EQ(read(there), 9u);
}

}  // namespace
}  // namespace flotilla::test
