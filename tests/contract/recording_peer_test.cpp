// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Recordings with copies between devices.

#include <string>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/recording_fixture.hpp"

namespace flotilla::test {
namespace {

class RecordingPeers : public recording_test {
 protected:
  void SetUp() override {
    if (device_count() < 2) { GTEST_SKIP() << "needs 2 devices"; }
    recording_test::SetUp();
  }
  void TearDown() override {
    if (!on_gpus()) { testing::clear_faults(); }
    recording_test::TearDown();
  }
  /// Records a round trip through all devices: copies a word to each device in turn, changes it
  /// there, and copies it back to the first device. Checks the word after each replay.
  void expect_round_trips() {
    std::vector<device_word> words;
    for (device_ordinal const each : ordinals()) { words.emplace_back(rt(), each, each.value); }
    recording round{rt()};
    recorded_task last_step;
    for (std::size_t i = 1; i <= words.size(); ++i) {
      device_word& from = words[i - 1];
      device_word& to = words[i % words.size()];
      dependency_list after;
      if (i > 1) { after.add(last_step); }
      recorded_task const copied = round.add(from.buffer().copy_to(to.buffer()), {.after = after});
      last_step = round.add(
          program().step.with_shape({1}, {1})(to.buffer(), 3u, static_cast<std::uint32_t>(i)),
          {.after = {copied}});
    }
    std::uint32_t expected = 0;
    for (int replays = 0; replays < 10; ++replays) {
      for (std::uint32_t i = 1; i <= words.size(); ++i) { expected = expected * 3 + i; }
      EXPECT_EQ(words.front().read({round.replay()}), expected) << "replay " << replays;
    }
  }
};
FLOTILLA_CONTRACT(RecordingPeers);

// requirement: a recorded copy between devices runs after its predecessors on the source's device
// and before its successors on the destination's device
TEST_P(RecordingPeers, CopiesBetweenDevicesRunInTheirOrder) { expect_round_trips(); }

// requirement: the same without access to the memory of the other devices
TEST_P(RecordingPeers, CopiesNeedNoPeerAccess) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (int from = 0; from < device_count(); ++from) {
    for (int to = 0; to < device_count(); ++to) {
      if (from != to) {
        testing::separate_peers(testing::cpu_device{from}, testing::cpu_device{to});
      }
    }
  }
  EXPECT_FALSE(can_access_peer(rt(), first(), last()));
  expect_round_trips();
}

// requirement: `set` changes the memory of a copy between devices, before and after the graphs are
// made, but not the device of its source
TEST_P(RecordingPeers, SetChangesTheMemoryOfACopy) {
  using words = device_buffer<std::uint32_t>;
  std::vector<std::uint32_t> const sent{1, 2, 3, 4}, other_sent{5, 6, 7, 8};
  words const from{rt(), first(), sent}, other_from{rt(), first(), other_sent};
  words to{rt(), last(), 4}, other_to{rt(), last(), 4}, here{rt(), first(), 4};
  auto const read = [&](words const& of) {
    std::vector<std::uint32_t> back(4);
    rt().submit(of.copy_to(back)).wait();
    return back;
  };
  recording steps{rt()};
  recorded_task const copy = steps.add(from.copy_to(to));
  steps.set(copy, other_from.copy_to(other_to));
  for (int finished = 0; finished < 2; ++finished) {
    EXPECT_THAT(thrown<invalid_argument>([&] { steps.set(copy, other_to.copy_to(to)); }),
                HasSubstr("the device of its source"));
    EXPECT_THROW(steps.set(copy, from.copy_to(here)), invalid_argument);
    EXPECT_THROW(steps.set(copy, to.fill(1)), invalid_argument);
    steps.finish();
  }
  rt().submit(to.fill(9)).wait();
  steps.replay().wait();
  EXPECT_EQ(read(other_to), other_sent);
  EXPECT_EQ(read(to), std::vector<std::uint32_t>(4, 9));
  steps.set(copy, from.subspan(0, 2).copy_to(to.subspan(2, 2)));
  steps.replay().wait();
  EXPECT_EQ(read(to), (std::vector<std::uint32_t>{9, 9, 1, 2}));
  steps.replay().wait();
  EXPECT_EQ(read(other_to), other_sent);
}

// requirement: a recorded kernel may use buffers of several devices if its device can access them
TEST_P(RecordingPeers, KernelsUseBuffersOfSeveralDevices) {
  if (!can_access_peer(rt(), first(), last())) { GTEST_SKIP() << "needs devices that are peers"; }
  device_word here{rt(), first(), 4}, there{rt(), last(), 5}, more{rt(), last(), 6};
  recording steps{rt()};
  recorded_task const copy =
      steps.add(program().copy.with_shape({1}, {1})(here.buffer(), there.buffer()));
  steps.replay().wait();
  EXPECT_EQ(here.read(), 5u);
  steps.set(copy, program().copy.with_shape({1}, {1})(here.buffer(), more.buffer()));
  steps.replay().wait();
  EXPECT_EQ(here.read(), 6u);
}

}  // namespace
}  // namespace flotilla::test
