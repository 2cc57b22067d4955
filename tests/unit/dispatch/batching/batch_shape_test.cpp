#include "dispatch/batch_shape.hpp"

#include <gtest/gtest.h>

#include "dispatch/device_queue.hpp"

namespace flotilla::dispatch {
namespace {

using std::chrono::nanoseconds;

batch_shape shape_for(float length) { return kernel_pace::shape_for(length); }

// requirement: a kernel that nobody has seen run goes out alone
TEST(BatchShape, BeginsWithOne) {
  kernel_pace const pace;
  EXPECT_EQ(pace.shape().most, 1u);
  EXPECT_EQ(pace.shape().width, 1u);
}

// requirement: short kernels chain, long ones spread
TEST(BatchShape, FollowsTheLengthOfKernels) {
  EXPECT_EQ(shape_for(500).most, 64u);
  EXPECT_EQ(shape_for(500).width, 2u);
  EXPECT_EQ(shape_for(500).most_in_chain, 64u);
  EXPECT_EQ(shape_for(5000).width, 4u);
  EXPECT_LE(shape_for(500).lanes, shape_for(5000).lanes);
  EXPECT_LT(shape_for(5000).lanes * shape_for(5000).width, 128u);
  EXPECT_EQ(shape_for(50'000).lanes * shape_for(50'000).width, 128u) << "as many as a GPU runs at once, and no more";
  EXPECT_EQ(shape_for(1e6F).most, 8u) << "side by side, none behind another";
  EXPECT_EQ(shape_for(20'000).most, 8u);
  EXPECT_EQ(shape_for(1e6F).most_when_full, 16u) << "where they would wait anyway: a launch costs as much as some ten nodes";
  EXPECT_EQ(shape_for(20'000).most_when_full, 64u);
  EXPECT_EQ(shape_for(20'000).run, 2u) << "and the first of them are not seen the later";
}

// requirement: templates exist in these sizes and widths, and lanes in this number
TEST(BatchShape, IsAlwaysOneThatExists) {
  for (float length = 1; length < 1e9F; length *= 1.3F) {
    batch_shape const shape = shape_for(length);
    EXPECT_TRUE(std::has_single_bit(shape.most)) << length;
    EXPECT_TRUE(std::has_single_bit(shape.most_when_full)) << length;
    EXPECT_GE(shape.most_when_full, shape.most);
    EXPECT_LE(shape.most_when_full, template_pool::most_size);
    EXPECT_LE(shape.most, template_pool::most_size);
    EXPECT_LE(shape.width, template_pool::most_width);
    EXPECT_LE(shape.width, shape.most);
    EXPECT_LE(shape.most_in_chain, lane::most_tasks);
    EXPECT_LE(shape.lanes, lane_plan::launch_lanes);
  }
}

// requirement: from a microsecond on, the first of a batch is seen 60 us after its end at the latest, or as long after
// it as it took itself
TEST(BatchShape, BoundsHowLateAnEndIsSeen) {
  for (float length = 1300; length < 1e7F; length *= 1.1F) {
    batch_shape const shape = shape_for(length);
    std::uint32_t const together = std::min(shape.run, shape.most / shape.width);
    EXPECT_LE(static_cast<float>(together - 1) * length, 60'000.0F) << length;
    std::uint32_t const together_when_full = std::min(shape.run, shape.most_when_full / shape.width);
    EXPECT_LE(static_cast<float>(together_when_full - 1) * length, std::max(60'000.0F, length)) << length;
  }
}

// requirement: a lane has room for what a stage may become, and templates for its marks
TEST(BatchShape, FitsIntoALane) {
  for (float length = 1; length < 1e9F; length *= 1.1F) {
    batch_shape const shape = shape_for(length);
    std::uint32_t const marks = std::max(1u, shape.most_when_full / shape.width / shape.run);
    EXPECT_LE(marks, template_pool::most_marks) << length;
    EXPECT_LE(shape.batches - 1 + marks, lane::most_batches) << length;
    EXPECT_TRUE(std::has_single_bit(shape.run)) << length;
  }
}

// requirement: what a flood of short kernels has in flight outlasts a pause of its host of 80 us (front end: 185 ns a task), in
// few templates, for to make them is what a flood begins with
TEST(BatchShape, KeepsEnoughOfShortKernelsInFlight) {
  for (float length = 100; length < 1800; length *= 1.1F) {
    batch_shape const shape = kernel_pace::shape_for(length, true);
    EXPECT_EQ(shape.batches, 1u) << length << ": one template, one mark";
    EXPECT_LE(shape.most_when_full, shape.run * shape.width) << length;
    EXPECT_GE(shape.lanes * shape.most_when_full * 185, 80'000u) << length;
    EXPECT_EQ(shape_for(length).batches, 2u) << length << ": the host rewrites";
  }
  for (float length = 3100; length < 1e6F; length *= 1.1F) {
    EXPECT_EQ(kernel_pace::shape_for(length, true).batches, shape_for(length).batches) << length;
  }
}

// requirement: whoever fills it in, what is believed of its time makes the rest of the shape, and later news too
TEST(KernelPace, WhatTheDeviceFillsInStaysSo) {
  kernel_pace pace;
  pace.filled_in(true);
  EXPECT_EQ(pace.shape().most, 1u) << "nobody has seen it run";
  pace.note(nanoseconds{4000 + 64 * 500}, 64, 1);
  EXPECT_EQ(pace.shape().batches, 1u);
  for (int i = 0; i < 1000; ++i) { pace.filled_in(i % 20 == 0); }
  EXPECT_EQ(pace.shape().batches, 1u) << "some are rewritten until there are templates enough";
  for (int i = 0; i < 100; ++i) { pace.filled_in(false); }
  EXPECT_EQ(pace.shape().batches, 2u) << "the device does not any more";
  pace.filled_in(true);
  EXPECT_EQ(pace.shape().batches, 1u);
  pace.note_open(nanoseconds{50'000'000}, 64, 0);
  EXPECT_EQ(pace.shape().batches, shape_for(pace.nanoseconds()).batches) << "long ones as ever";
  EXPECT_GT(pace.nanoseconds(), 8000.0F);
}

/// A batch of 64 one behind the other, all alone on the device, of kernels of that length.
void see(kernel_pace& pace, std::int64_t length_ns) { pace.note(nanoseconds{4000 + 64 * length_ns}, 64, 1); }

// requirement: the first measurement counts, a single kernel's too, less what is around it
TEST(KernelPace, BelievesTheFirst) {
  kernel_pace pace;
  pace.note(nanoseconds{4000 + 20'000}, 1, 1);
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 20'000);
  kernel_pace empty;
  empty.note(nanoseconds{2500}, 1, 1);
  EXPECT_EQ(empty.shape().most, 64u);
}

// requirement: one slow batch does not make a kernel slow, two do; a shorter one is believed at once
TEST(KernelPace, BelievesTheShorterOfTwo) {
  kernel_pace pace;
  for (int i = 0; i < 10; ++i) { see(pace, 1000); }
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 1000);
  see(pace, 10'000);
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 1000);
  see(pace, 10'000);
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 10'000);
  see(pace, 500);
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 500);
}

// requirement: chains that wait for the front end of a GPU do not make their kernels long
TEST(KernelPace, IsNotTakenInByManyChains) {
  kernel_pace pace;
  see(pace, 600);
  for (int i = 0; i < 10; ++i) { pace.note(nanoseconds{4000 + 64 * 1100}, 64, 6); }
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 600);
  for (int i = 0; i < 10; ++i) { pace.note(nanoseconds{4000 + 64 * 5500}, 64, 32); }
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 600);
  for (int i = 0; i < 2; ++i) { pace.note(nanoseconds{4000 + 8 * 100'000}, 8, 128); }
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 100'000) << "that is more than any front end";
}

// requirement: nor does a first look that was wrong keep a short kernel in the shape of a long one
TEST(KernelPace, LeavesManyChainsThatDoNotPay) {
  kernel_pace pace;
  pace.note(nanoseconds{4000 + 5000}, 1, 1);
  ASSERT_EQ(pace.shape().width, 4u);
  for (int i = 0; i < 8; ++i) { pace.note(nanoseconds{4000 + 16 * 6000}, 16, 32); }
  EXPECT_EQ(pace.shape().width, 2u) << "to see how long it takes where little else is in its way";
  see(pace, 600);
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 600);
  kernel_pace long_one;
  long_one.note(nanoseconds{4000 + 5000}, 1, 1);
  for (int i = 0; i < 8; ++i) { long_one.note(nanoseconds{4000 + 16 * 6000}, 16, 32); }
  for (int i = 0; i < 2; ++i) { long_one.note(nanoseconds{4000 + 32 * 5500}, 32, 16); }
  EXPECT_EQ(long_one.shape().width, 4u) << "that was worth them";
  for (int i = 0; i < 15; ++i) { long_one.note(nanoseconds{4000 + 16 * 6500}, 16, 32); }
  EXPECT_EQ(long_one.shape().width, 4u) << "and is not doubted again so soon";
  kernel_pace twenty;
  twenty.note(nanoseconds{4000 + 20'000}, 1, 1);
  for (int i = 0; i < 1000; ++i) { twenty.note(nanoseconds{4000 + 2 * 25'000}, 2, 128); }
  EXPECT_EQ(twenty.shape().width, 8u);
}

// requirement: a kernel that has become long is known to be before its first deep batch is done
TEST(KernelPace, TakesABatchThatDoesNotEndForNews) {
  kernel_pace pace;
  see(pace, 600);
  see(pace, 600);
  pace.note_open(nanoseconds{600'000}, 64, 0);
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 600) << "not so late yet";
  pace.note_open(nanoseconds{2'000'000}, 64, 24);
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 600) << "others are ahead of it";
  pace.note_open(nanoseconds{40'000}, 1, 0);
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 600) << "a lone task that is looked at too soon";
  pace.note_open(nanoseconds{960'000}, 64, 0);
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 15'000);
  EXPECT_EQ(pace.shape().width, 8u);
  kernel_pace unknown;
  unknown.note_open(nanoseconds{640'000}, 1, 0);
  EXPECT_EQ(unknown.shape().most, 1u) << "nothing was expected of it";
}

// requirement: measured often while it is news, seldom afterwards, and soon again when it changes
TEST(KernelPace, IsMeasuredSeldomWhereNothingChanges) {
  kernel_pace pace;
  auto const batches_until_due = [&](std::uint32_t tasks) {
    int batches = 1;
    for (; !pace.due(tasks); ++batches) {}
    return batches;
  };
  EXPECT_EQ(batches_until_due(64), 1);
  for (int i = 0; i < 10; ++i) { see(pace, 1000); }
  EXPECT_EQ(batches_until_due(64), 16);
  EXPECT_TRUE(pace.due(64)) << "until it has been measured";
  see(pace, 1000);
  EXPECT_EQ(batches_until_due(1), 256) << "a lone task feels it";
  see(pace, 5000);
  EXPECT_EQ(batches_until_due(1), 1);
}

}  // namespace
}  // namespace flotilla::dispatch
