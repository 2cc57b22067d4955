// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Attributes of launches: shared memory, clusters, cooperative and programmatic launches. What CPU
// devices cannot do is tested in tests/gpu.

#include <flotilla/task/recording.hpp>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class LaunchAttributes : public contract_test {
 protected:
  std::string refusal(launch const& what) {
    return thrown<invalid_argument>([&] { (void)rt().submit(what); });
  }
};
FLOTILLA_CONTRACT(LaunchAttributes);

// requirement: a launch may have more shared memory than the default limit of 48 KiB, alone, in a
// batch, and in a recording
TEST_P(LaunchAttributes, SharedMemoryAboveTheDefaultLimit) {
  auto const large = program().nothing.with_shape({1}, {1}).shared(100 * 1024);
  EXPECT_EQ(large().dynamic_shared_bytes(), 100u * 1024);
  rt().submit(large(), {.device = last(), .batch = false}).wait();
  std::vector<ticket> done;
  for (int i = 0; i < 100; ++i) { done.push_back(rt().submit(large(), {.device = last()})); }
  for (ticket const& each : done) { each.wait(); }
  recording recorded{rt()};
  static_cast<void>(recorded.add(program().nothing.with_shape({1}, {1}).shared(200 * 1024)(),
                                 {.device = last()}));
  recorded.replay().wait();
}

// requirement: the error of a launch with too much names the maximum
TEST_P(LaunchAttributes, TooMuchSharedMemoryNamesTheMaximum) {
  ticket const bad = rt().submit(program().nothing.over(1).shared(64u << 20)());
  EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }),
              AllOf(HasSubstr("nothing"), HasSubstr("67108864 bytes of dynamic shared memory"),
                    HasSubstr("bytes of dynamic shared memory)")));
}

// requirement: impossible clusters are refused by name, with the value and the limit
TEST_P(LaunchAttributes, ImpossibleClustersAreRefused) {
  auto const grid = program().nothing.with_shape({64, 2}, {32});
  EXPECT_THAT(refusal(grid.cluster({2, 0})()),
              AllOf(HasSubstr("'nothing'"), HasSubstr("2 x 0 x 1"), HasSubstr("at least 1")));
  EXPECT_THAT(refusal(grid.cluster({3})()), AllOf(HasSubstr("'nothing'"), HasSubstr("64 x 2 x 1"),
                                                  HasSubstr("3 x 1 x 1"), HasSubstr("multiple")));
  EXPECT_THAT(refusal(grid.cluster({8, 2})()),
              AllOf(HasSubstr("'nothing'"), HasSubstr("8 x 2 x 1"), HasSubstr("at most 8 blocks")));
  EXPECT_THAT(refusal(grid.cluster({32}, cluster_limit::non_portable)()),
              AllOf(HasSubstr("32 x 1 x 1"), HasSubstr("at most 16 blocks")));
  EXPECT_THAT(refusal(grid.cluster({0xffff'ffff, 0xffff'ffff})()), HasSubstr("at most 8 blocks"));
}

// requirement: CPU devices refuse what they cannot do, and name the kernel and the attribute
TEST_P(LaunchAttributes, CpuDevicesRefuseClustersAndCooperativeGrids) {
  if (on_gpus()) { GTEST_SKIP() << "needs CPU devices"; }
  auto const grid = program().nothing.with_shape({4}, {32});
  EXPECT_THAT(refusal(grid.cluster({2})()),
              AllOf(HasSubstr("'nothing'"), HasSubstr("CPU devices"), HasSubstr("clusters")));
  EXPECT_THAT(refusal(grid.cooperative()()),
              AllOf(HasSubstr("'nothing'"), HasSubstr("CPU devices"), HasSubstr("cooperative"),
                    HasSubstr("4 x 1 x 1")));
  rt().submit(grid.cluster({1})(), {.device = last()}).wait();
}

// requirement: a cooperative grid of one block runs everywhere
TEST_P(LaunchAttributes, ACooperativeGridOfOneBlockRuns) {
  device_word word{rt(), last(), 1};
  ticket const done =
      rt().submit(program().step.with_shape({1}, {1}).cooperative()(word.buffer(), 4u, 2u));
  EXPECT_EQ(word.read({done}), 6u);
}

// requirement: recordings refuse attributes by name
TEST_P(LaunchAttributes, RecordingsRefuseAttributes) {
  recording recorded{rt()};
  auto const base = program().nothing.with_shape({1}, {1});
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)recorded.add(base.cooperative()()); }),
              AllOf(HasSubstr("'nothing'"), HasSubstr("cooperative"), HasSubstr("recorded")));
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)recorded.add(base.programmatic()()); }),
              AllOf(HasSubstr("'nothing'"), HasSubstr("programmatic")));
  recorded_task const task = recorded.add(base());
  EXPECT_THROW(recorded.set(task, base.programmatic()()), invalid_argument);
}

// requirement: programmatic launches run after their predecessors, in chains of any length, among
// other tasks
TEST_P(LaunchAttributes, ProgrammaticLaunchesKeepTheirOrder) {
  auto const plain = program().step.with_shape({1}, {1});
  auto const early = plain.programmatic();
  for (int round = 0; round < 20; ++round) {
    device_word word{rt(), last(), 1}, other{rt(), last(), 1};
    std::uint32_t expected = 1, expected_other = 1;
    ticket before, before_other;
    for (std::uint32_t i = 0; i < 50; ++i) {
      dependency_list after, after_other;
      if (i != 0) {
        after.add(before);
        after_other.add(before_other);
      }
      bool const is_early = i % 5 != 0;
      before = rt().submit((is_early ? early : plain)(word.buffer(), 3u, i),
                           {.after = std::move(after)});
      before_other = rt().submit(plain(other.buffer(), 5u, i), {.after = std::move(after_other)});
      expected = expected * 3 + i;
      expected_other = expected_other * 5 + i;
    }
    EXPECT_EQ(word.read({before}), expected);
    EXPECT_EQ(other.read({before_other}), expected_other);
  }
}

// requirement: if the first of a programmatic pair is refused, the second does not run
TEST_P(LaunchAttributes, AProgrammaticLaunchFailsWithItsPredecessor) {
  auto const early = program().step.with_shape({1}, {1}).programmatic();
  for (int round = 0; round < 20; ++round) {
    device_word word{rt(), last(), 1};
    ticket const bad = rt().submit(refused_launch(program()), {.device = last()});
    ticket const next = rt().submit(early(word.buffer(), 9u, 9u), {.after = {bad}});
    EXPECT_THROW(bad.wait(), driver_error);
    EXPECT_THROW(next.wait(), dependency_failed);
    EXPECT_EQ(word.read(), 1u);
  }
}

}  // namespace
}  // namespace flotilla::test
