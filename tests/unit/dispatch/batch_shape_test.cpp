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
  EXPECT_EQ(shape_for(500).width, 1u);
  EXPECT_EQ(shape_for(5000).width, 4u);
  EXPECT_LE(shape_for(500).lanes, shape_for(5000).lanes);
  EXPECT_LT(shape_for(5000).lanes, shape_for(50'000).lanes);
  EXPECT_EQ(shape_for(1e6F).most, 4u) << "side by side, none behind another";
}

// requirement: templates exist in these sizes and widths, and lanes in this number
TEST(BatchShape, IsAlwaysOneThatExists) {
  for (float length = 1; length < 1e9F; length *= 1.3F) {
    batch_shape const shape = shape_for(length);
    EXPECT_TRUE(std::has_single_bit(shape.most)) << length;
    EXPECT_LE(shape.most, template_pool::most_size);
    EXPECT_LE(shape.width, template_pool::most_width);
    EXPECT_LE(shape.width, shape.most);
    EXPECT_LE(shape.lanes, device_queue::launch_lanes);
  }
}

// requirement: from a microsecond on, the first of a batch is seen 60 us after its end at the latest, or soon after it
TEST(BatchShape, BoundsHowLateAnEndIsSeen) {
  for (float length = 1300; length < 1e7F; length *= 1.1F) {
    batch_shape const shape = shape_for(length);
    float const behind = static_cast<float>(shape.most / shape.width - 1) * length;
    EXPECT_LE(behind, 60'000.0F) << length;
  }
}

// requirement: one slow look does not make a kernel slow, many do
TEST(KernelPace, BelievesTheShortestOfTheLast) {
  kernel_pace pace;
  for (int i = 0; i < 100; ++i) { pace.note(nanoseconds{64'000}, 64); }
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 1000);
  pace.note(nanoseconds{640'000}, 64);
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 1000);
  for (int i = 0; i < 100; ++i) { pace.note(nanoseconds{640'000}, 64); }
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 10'000);
  pace.note(nanoseconds{32'000}, 64);
  EXPECT_FLOAT_EQ(pace.nanoseconds(), 500) << "a shorter one is believed at once";
}

}  // namespace
}  // namespace flotilla::dispatch
