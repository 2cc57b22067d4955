// How threads wait: the rules, without threads.
#include "dispatch/schedule.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
using dispatch::lingers;
using dispatch::nap;
using dispatch::of_worker;
using dispatch::resolved;
using dispatch::schedules;

schedule together(std::initializer_list<schedule> of, schedule automatic = schedule::spin) {
  schedules made;
  for (schedule const each : of) { made.add(each); }
  return made.together(automatic);
}

// requirement: what is said is done
TEST(Schedule, ThatIsNotAutomaticIsItself) {
  for (schedule const how : {schedule::spin, schedule::yield, schedule::blocking}) {
    for (device_kind const kind : {device_kind::gpu, device_kind::cpu}) {
      EXPECT_EQ(resolved(how, kind, 1, 64), how);
      EXPECT_EQ(resolved(how, kind, 64, 1), how);
    }
  }
}

// requirement: the driver's rule: more contexts than processors yield, as many spin
TEST(Schedule, AutomaticYieldsWithMoreContextsThanProcessors) {
  EXPECT_EQ(resolved(schedule::automatic, device_kind::gpu, 0, 8), schedule::spin);
  EXPECT_EQ(resolved(schedule::automatic, device_kind::gpu, 8, 8), schedule::spin);
  EXPECT_EQ(resolved(schedule::automatic, device_kind::gpu, 9, 8), schedule::yield);
}

// requirement: a CPU device computes on the processors
TEST(Schedule, AutomaticYieldsForCpuDevices) {
  EXPECT_EQ(resolved(schedule::automatic, device_kind::cpu, 1, 64), schedule::yield);
}

// requirement: of several devices the one that asks to be seen soonest
TEST(Schedule, OfSeveralDevicesIsThatOfTheMostWakeful) {
  for (schedule const how : {schedule::spin, schedule::yield, schedule::blocking}) {
    EXPECT_EQ(together({how}), how);
    EXPECT_EQ(together({how, how}), how);
    EXPECT_EQ(together({schedule::spin, how}), schedule::spin);
    EXPECT_EQ(together({how, schedule::blocking}), how);
  }
  EXPECT_EQ(together({schedule::blocking, schedule::yield, schedule::blocking}), schedule::yield);
}

// requirement: automatic counts as what it comes to
TEST(Schedule, OfSeveralDevicesTakesAutomaticForWhatItComesTo) {
  for (schedule const comes_to : {schedule::spin, schedule::yield}) {
    EXPECT_EQ(together({schedule::automatic}, comes_to), comes_to);
    EXPECT_EQ(together({schedule::automatic, schedule::blocking}, comes_to), comes_to);
    EXPECT_EQ(together({schedule::blocking}, comes_to), schedule::blocking);
    EXPECT_EQ(together({}, comes_to), comes_to);
  }
  EXPECT_EQ(together({schedule::automatic, schedule::spin}, schedule::yield), schedule::spin);
}

// requirement: sets of devices add up
TEST(Schedule, OfTwoGroupsIsThatOfAllTheirDevices) {
  schedules one, other;
  EXPECT_TRUE(one.empty());
  one.add(schedule::blocking);
  other.add(schedule::yield);
  one.add(other);
  EXPECT_FALSE(one.empty());
  EXPECT_EQ(one.together(schedule::spin), schedule::yield);
}

// requirement: an idle worker spins where waiters spin, yields where they yield, and leaves where
// they sleep
TEST(Schedule, OfAWorkerIsTheDevicesButForSpinningBesideCpuDevices) {
  for (schedule const how : {schedule::spin, schedule::yield, schedule::blocking}) {
    EXPECT_EQ(of_worker(how, device_kind::gpu), how);
  }
  EXPECT_EQ(of_worker(schedule::spin, device_kind::cpu), schedule::yield);
  EXPECT_EQ(of_worker(schedule::yield, device_kind::cpu), schedule::yield);
  EXPECT_EQ(of_worker(schedule::blocking, device_kind::cpu), schedule::blocking);
  EXPECT_TRUE(lingers(schedule::spin));
  EXPECT_TRUE(lingers(schedule::yield));
  EXPECT_FALSE(lingers(schedule::blocking));
}

// requirement: short first, longer and longer, never longer than half a millisecond
TEST(Schedule, NapsGrowToHalfAMillisecond) {
  EXPECT_EQ(nap(1), 20us);
  for (unsigned round = 1; round < 100; ++round) {
    EXPECT_GT(nap(round), 0us);
    EXPECT_LE(nap(round), nap(round + 1));
    EXPECT_LE(nap(round + 1), 2 * nap(round));
  }
  EXPECT_EQ(nap(100), 500us);
  EXPECT_EQ(nap(~0u), 500us);
}

}  // namespace
}  // namespace flotilla::test
