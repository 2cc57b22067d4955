// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The rules by which a thread's wait policy is chosen. No thread waits in these tests.
#include "dispatch/waiting/wait_policy.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using dispatch::polls_when_idle;
using dispatch::resolve;
using dispatch::sleep_time;
using dispatch::wait_policies;
using dispatch::worker_policy;

wait_policy together(std::initializer_list<wait_policy> of,
                     wait_policy automatic = wait_policy::spin) {
  wait_policies made;
  for (wait_policy const each : of) { made.add(each); }
  return made.together(automatic);
}

// requirement: if the policy is not `automatic`, it is used unchanged
TEST(WaitPolicy, ThatIsNotAutomaticIsItself) {
  for (wait_policy const how : {wait_policy::spin, wait_policy::yield, wait_policy::blocking}) {
    for (device_kind const kind : {device_kind::gpu, device_kind::cpu}) {
      EXPECT_EQ(resolve(how, kind, 1, 64), how);
      EXPECT_EQ(resolve(how, kind, 64, 1), how);
    }
  }
}

// requirement: `automatic` means yield if there are more contexts than processors, and spin
// otherwise. This is the rule of the CUDA driver.
TEST(WaitPolicy, AutomaticYieldsWithMoreContextsThanProcessors) {
  EXPECT_EQ(resolve(wait_policy::automatic, device_kind::gpu, 0, 8), wait_policy::spin);
  EXPECT_EQ(resolve(wait_policy::automatic, device_kind::gpu, 8, 8), wait_policy::spin);
  EXPECT_EQ(resolve(wait_policy::automatic, device_kind::gpu, 9, 8), wait_policy::yield);
}

// requirement: `automatic` means yield for a CPU device, because the device computes on the
// processors of the waiting threads
TEST(WaitPolicy, AutomaticYieldsForCpuDevices) {
  EXPECT_EQ(resolve(wait_policy::automatic, device_kind::cpu, 1, 64), wait_policy::yield);
}

// requirement: if several devices have different policies, spin is preferred to yield, and yield to
// blocking
TEST(WaitPolicy, OfSeveralDevicesIsTheMostEager) {
  for (wait_policy const how : {wait_policy::spin, wait_policy::yield, wait_policy::blocking}) {
    EXPECT_EQ(together({how}), how);
    EXPECT_EQ(together({how, how}), how);
    EXPECT_EQ(together({wait_policy::spin, how}), wait_policy::spin);
    EXPECT_EQ(together({how, wait_policy::blocking}), how);
  }
  EXPECT_EQ(together({wait_policy::blocking, wait_policy::yield, wait_policy::blocking}),
            wait_policy::yield);
}

// requirement: if several devices have different policies, `automatic` counts as the policy to
// which it was resolved
TEST(WaitPolicy, OfSeveralDevicesResolvesAutomatic) {
  for (wait_policy const resolved : {wait_policy::spin, wait_policy::yield}) {
    EXPECT_EQ(together({wait_policy::automatic}, resolved), resolved);
    EXPECT_EQ(together({wait_policy::automatic, wait_policy::blocking}, resolved), resolved);
    EXPECT_EQ(together({wait_policy::blocking}, resolved), wait_policy::blocking);
    EXPECT_EQ(together({}, resolved), resolved);
  }
  EXPECT_EQ(together({wait_policy::automatic, wait_policy::spin}, wait_policy::yield),
            wait_policy::spin);
}

// requirement: if one set of policies is added to another, the result is the policy for the devices
// of both sets
TEST(WaitPolicy, OfTwoSetsIsThatOfAllTheirDevices) {
  wait_policies one, other;
  EXPECT_TRUE(one.empty());
  one.add(wait_policy::blocking);
  other.add(wait_policy::yield);
  one.add(other);
  EXPECT_FALSE(one.empty());
  EXPECT_EQ(one.together(wait_policy::spin), wait_policy::yield);
}

// requirement: an idle worker polls like a waiting thread, with two exceptions. For CPU devices, it
// yields instead of spinning. It ends if the policy of all devices is `blocking`.
TEST(WaitPolicy, OfAWorkerIsThatOfTheDevicesExceptSpinning) {
  for (wait_policy const how : {wait_policy::spin, wait_policy::yield, wait_policy::blocking}) {
    EXPECT_EQ(worker_policy(how, device_kind::gpu), how);
  }
  EXPECT_EQ(worker_policy(wait_policy::spin, device_kind::cpu), wait_policy::yield);
  EXPECT_EQ(worker_policy(wait_policy::yield, device_kind::cpu), wait_policy::yield);
  EXPECT_EQ(worker_policy(wait_policy::blocking, device_kind::cpu), wait_policy::blocking);
  EXPECT_TRUE(polls_when_idle(wait_policy::spin));
  EXPECT_TRUE(polls_when_idle(wait_policy::yield));
  EXPECT_FALSE(polls_when_idle(wait_policy::blocking));
}

// requirement: the sleep times start at 20 us, never decrease, at most double from one round to the
// next, and never exceed 500 us
TEST(WaitPolicy, SleepsGrowToHalfAMillisecond) {
  EXPECT_EQ(sleep_time(1), 20us);
  for (unsigned round = 1; round < 100; ++round) {
    EXPECT_GT(sleep_time(round), 0us);
    EXPECT_LE(sleep_time(round), sleep_time(round + 1));
    EXPECT_LE(sleep_time(round + 1), 2 * sleep_time(round));
  }
  EXPECT_EQ(sleep_time(100), 500us);
  EXPECT_EQ(sleep_time(~0u), 500us);
}

}  // namespace
}  // namespace flotilla::test
