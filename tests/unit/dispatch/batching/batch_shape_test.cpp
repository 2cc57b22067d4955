// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/batching/kernel_profile.hpp"

#include <gtest/gtest.h>

#include "dispatch/graph/template_pool.hpp"
#include "dispatch/lane/lane.hpp"
#include "dispatch/lane/lane_layout.hpp"

namespace flotilla::dispatch {
namespace {

using std::chrono::nanoseconds;

// requirement: a kernel that was never measured is launched alone
TEST(BatchShape, BeginsWithOne) {
  kernel_profile const profile;
  EXPECT_EQ(profile.shape().max_tasks, 1u);
  EXPECT_EQ(profile.shape().chains, 1u);
}

// requirement: short kernels run one after another in chains, and long kernels run in parallel
TEST(BatchShape, FollowsTheLengthOfKernels) {
  EXPECT_EQ(shape_for(500).max_tasks, 64u);
  EXPECT_EQ(shape_for(500).chains, 2u);
  EXPECT_EQ(shape_for(500).max_chain, 64u);
  EXPECT_EQ(shape_for(5000).chains, 4u);
  EXPECT_LE(shape_for(500).lanes, shape_for(5000).lanes);
  EXPECT_LT(shape_for(5000).lanes * shape_for(5000).chains, 128u);
  EXPECT_EQ(shape_for(50'000).lanes * shape_for(50'000).chains, 128u)
      << "the number of kernels that a GPU can run at once";
  EXPECT_EQ(shape_for(1e6F).max_tasks, 8u) << "long kernels run side by side only";
  EXPECT_EQ(shape_for(20'000).max_tasks, 8u);
  EXPECT_EQ(shape_for(1e6F).max_tasks_saturated, 16u)
      << "if the device is saturated, large batches delay no task and save launches";
  EXPECT_EQ(shape_for(20'000).max_tasks_saturated, 64u);
  EXPECT_EQ(shape_for(20'000).rows_per_completion, 2u)
      << "larger batches must not delay the visible end of their first tasks";
  EXPECT_EQ(shape_for(20'000).max_chain_behind, 2u) << "a chain of such tasks needs few launches";
  EXPECT_EQ(shape_for(1e6F).max_chain_behind, 1u);
}

// requirement: templates of every shape can be created, and every shape uses at most the existing
// lanes
TEST(BatchShape, IsAlwaysOneThatExists) {
  for (float length = 1; length < 1e9F; length *= 1.3F) {
    batch_shape const shape = shape_for(length);
    EXPECT_TRUE(std::has_single_bit(shape.max_tasks)) << length;
    EXPECT_TRUE(std::has_single_bit(shape.max_tasks_saturated)) << length;
    EXPECT_GE(shape.max_tasks_saturated, shape.max_tasks);
    EXPECT_LE(shape.max_tasks_saturated, template_pool::max_size);
    EXPECT_LE(shape.max_tasks, template_pool::max_size);
    EXPECT_LE(shape.chains, template_pool::max_chains);
    EXPECT_LE(shape.chains, shape.max_tasks);
    EXPECT_LE(shape.max_chain, lane::max_tasks);
    EXPECT_LE(shape.lanes, lane_layout::launch_lanes);
  }
}

// requirement: for kernels longer than 1.3 us, the end of a batch's first task becomes visible at
// most 60 us late. If the device is saturated and a task takes longer than 60 us, the delay can be
// as long as one task.
TEST(BatchShape, BoundsHowLateAnEndIsSeen) {
  for (float length = 1300; length < 1e7F; length *= 1.1F) {
    batch_shape const shape = shape_for(length);
    std::uint32_t const together =
        std::min(shape.rows_per_completion, shape.max_tasks / shape.chains);
    EXPECT_LE(static_cast<float>(together - 1) * length, 60'000.0F) << length;
    std::uint32_t const together_behind =
        std::min(shape.rows_per_completion, shape.max_chain_behind);
    EXPECT_LE(static_cast<float>(together_behind - 1) * length, 60'000.0F) << length;
    std::uint32_t const together_when_full =
        std::min(shape.rows_per_completion, shape.max_tasks_saturated / shape.chains);
    EXPECT_LE(static_cast<float>(together_when_full - 1) * length, std::max(60'000.0F, length))
        << length;
  }
}

// requirement: the batches of every shape fit into a lane, and templates have enough completion
// nodes
TEST(BatchShape, FitsIntoALane) {
  for (float length = 1; length < 1e9F; length *= 1.1F) {
    batch_shape const shape = shape_for(length);
    std::uint32_t const completions =
        std::max(1u, shape.max_tasks_saturated / shape.chains / shape.rows_per_completion);
    EXPECT_LE(completions, template_pool::max_completions) << length;
    EXPECT_LE(shape.batches - 1 + completions, lane::max_batches) << length;
    EXPECT_TRUE(std::has_single_bit(shape.rows_per_completion)) << length;
  }
}

// requirement: enough short kernels are in flight to keep the device busy while the host pauses for
// 80 us. The GPU's front end needs 185 ns for each kernel.
TEST(BatchShape, KeepsEnoughOfShortKernelsInFlight) {
  for (float length = 100; length < 1800; length *= 1.1F) {
    batch_shape const shape = shape_for(length);
    EXPECT_EQ(shape.batches, 2u) << length;
    EXPECT_LE(shape.max_tasks_saturated, shape.rows_per_completion * shape.chains) << length;
    EXPECT_GE(shape.lanes * shape.batches * shape.max_tasks_saturated * 185, 80'000u) << length;
  }
}

/// Reports a chain of 64 kernels that took `length_ns` each. No other chain ran meanwhile.
void see(kernel_profile& profile, std::int64_t length_ns) {
  profile.note(nanoseconds{4000 + 64 * length_ns}, 64, 1);
}

// requirement: the first measurement is used at once, even if only one kernel was measured. The
// launch overhead is subtracted.
TEST(KernelProfile, BelievesTheFirst) {
  kernel_profile profile;
  profile.note(nanoseconds{4000 + 20'000}, 1, 1);
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 20'000);
  kernel_profile empty;
  empty.note(nanoseconds{2500}, 1, 1);
  EXPECT_EQ(empty.shape().max_tasks, 64u);
}

// requirement: if a kernel now takes longer, the new time is used only after a second slow batch. A
// shorter time is used at once.
TEST(KernelProfile, BelievesTheShorterOfTwo) {
  kernel_profile profile;
  for (int i = 0; i < 10; ++i) { see(profile, 1000); }
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 1000);
  see(profile, 10'000);
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 1000);
  see(profile, 10'000);
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 10'000);
  see(profile, 500);
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 500);
}

// requirement: the time for which chains wait for a GPU's front end is not counted as kernel time
TEST(KernelProfile, IsNotMisledByManyChains) {
  kernel_profile profile;
  see(profile, 600);
  for (int i = 0; i < 10; ++i) { profile.note(nanoseconds{4000 + 64 * 1100}, 64, 6); }
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 600);
  for (int i = 0; i < 10; ++i) { profile.note(nanoseconds{4000 + 64 * 5500}, 64, 32); }
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 600);
  for (int i = 0; i < 2; ++i) { profile.note(nanoseconds{4000 + 8 * 100'000}, 8, 128); }
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 100'000) << "the front end alone cannot take so long";
}

// requirement: a short kernel gets the shape for short kernels, even if its first measurement was
// too long
TEST(KernelProfile, GivesUpChainsThatDoNotPay) {
  kernel_profile profile;
  profile.note(nanoseconds{4000 + 5000}, 1, 1);
  ASSERT_EQ(profile.shape().chains, 4u);
  for (int i = 0; i < 8; ++i) { profile.note(nanoseconds{4000 + 16 * 6000}, 16, 32); }
  EXPECT_EQ(profile.shape().chains, 2u) << "fewer chains make a better measurement possible";
  see(profile, 600);
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 600);
  kernel_profile long_one;
  long_one.note(nanoseconds{4000 + 5000}, 1, 1);
  for (int i = 0; i < 8; ++i) { long_one.note(nanoseconds{4000 + 16 * 6000}, 16, 32); }
  for (int i = 0; i < 2; ++i) { long_one.note(nanoseconds{4000 + 32 * 5500}, 32, 16); }
  EXPECT_EQ(long_one.shape().chains, 4u) << "fewer chains were not faster";
  for (int i = 0; i < 15; ++i) { long_one.note(nanoseconds{4000 + 16 * 6500}, 16, 32); }
  EXPECT_EQ(long_one.shape().chains, 4u) << "it is too early for the next trial";
  kernel_profile twenty;
  twenty.note(nanoseconds{4000 + 20'000}, 1, 1);
  for (int i = 0; i < 1000; ++i) { twenty.note(nanoseconds{4000 + 2 * 25'000}, 2, 128); }
  EXPECT_EQ(twenty.shape().chains, 8u);
}

// requirement: if a kernel takes much longer than it did before, this is noticed before the
// first long batch has ended
TEST(KernelProfile, NoticesABatchThatDoesNotEnd) {
  kernel_profile profile;
  see(profile, 600);
  see(profile, 600);
  profile.note_open(nanoseconds{600'000}, 64, 0);
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 600) << "the batch is not late enough";
  profile.note_open(nanoseconds{2'000'000}, 64, 24);
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 600) << "other batches are ahead in the lane";
  profile.note_open(nanoseconds{40'000}, 1, 0);
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 600) << "it is too early to judge a single task";
  profile.note_open(nanoseconds{960'000}, 64, 0);
  EXPECT_FLOAT_EQ(profile.kernel_ns(), 15'000);
  EXPECT_EQ(profile.shape().chains, 8u);
  kernel_profile unknown;
  unknown.note_open(nanoseconds{640'000}, 1, 0);
  EXPECT_EQ(unknown.shape().max_tasks, 1u)
      << "a kernel that was never measured has no expected time";
}

// requirement: at first a kernel is measured often, and then rarely. After its length has changed,
// it is measured often again.
TEST(KernelProfile, IsMeasuredRarelyWhileNothingChanges) {
  kernel_profile profile;
  auto const batches_until_due = [&](std::uint32_t tasks) {
    int batches = 1;
    for (; !profile.count_batch(tasks); ++batches) {}
    return batches;
  };
  EXPECT_EQ(batches_until_due(64), 1);
  for (int i = 0; i < 10; ++i) { see(profile, 1000); }
  EXPECT_EQ(batches_until_due(64), 16);
  EXPECT_TRUE(profile.count_batch(64)) << "the measurement stays due until it is made";
  see(profile, 1000);
  EXPECT_EQ(batches_until_due(1), 256) << "a measurement delays a single task, so it is rare";
  see(profile, 5000);
  EXPECT_EQ(batches_until_due(1), 1);
}

}  // namespace
}  // namespace flotilla::dispatch
