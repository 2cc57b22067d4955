// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Kernels with the option GPU_ONLY, and launches with attributes, on a GPU of compute capability
// 9.0 or later.

#include <numeric>
#include <vector>

#include <cuda_fp16.h>

#include <flotilla/flotilla.hpp>

#include <gpu_only_kernels.hpp>

#include "one_gpu_test.hpp"
#include "support/devices.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class GpuOnly : public one_gpu_test {
 protected:
  GpuOnly() : one_gpu_test{gpu_only_kernels} {}
  void SetUp() override {
    FLOTILLA_NEED_DEVICES(1);
    if (!on_gpus()) { GTEST_SKIP() << "needs a GPU"; }
    try {
      one_gpu_test::SetUp();
    } catch (bad_image const& why) {
      // The image has code for compute capability 9.0 and later.
      GTEST_SKIP() << "needs a GPU of compute capability 9.0: " << why.what();
    }
  }
};

std::vector<int> numbers(int count) {
  std::vector<int> made(static_cast<std::size_t>(count));
  std::iota(made.begin(), made.end(), 1);
  return made;
}

// requirement
TEST_F(GpuOnly, HalfAndBfloat16) {
  std::vector<half> const ones(1000, __float2half(1.0f));
  device_buffer<half> x{rt(), gpu, ones}, y{rt(), gpu, ones};
  ticket const done = rt().submit(
      loaded().kernel(gpu_only_kernels.half_axpy).over(1000)(__float2half(3.0f), x, y, 1000));
  for (half const each : fetch(y, {done})) { ASSERT_EQ(__half2float(each), 4.0f); }

  std::vector<std::uint16_t> const bits(1000, 0x3fc0);  // 1.5 as bfloat16
  device_buffer<std::uint16_t> from{rt(), gpu, bits};
  device_buffer<float> to{rt(), gpu, 1000};
  int const n = 1000;
  untyped_launch next = loaded().kernel("bfloat_double").over(n).arguments();
  next.append(from).append(to).append(&n, sizeof n);
  ticket const doubled = rt().submit(std::move(next).finish());
  EXPECT_EQ(fetch(to, {doubled}), std::vector<float>(1000, 3.0f));
}

// requirement
TEST_F(GpuOnly, Cub) {
  device_buffer<int> x{rt(), gpu, numbers(256)}, sum{rt(), gpu, 1};
  ticket const done =
      rt().submit(loaded().kernel(gpu_only_kernels.cub_sum).with_shape({1}, {256})(x, sum));
  EXPECT_EQ(fetch(sum, {done}), std::vector<int>{256 * 257 / 2});
}

// requirement
TEST_F(GpuOnly, WarpMatrices) {
  std::vector<half> const twos(256, __float2half(2.0f));
  device_buffer<half> a{rt(), gpu, twos}, b{rt(), gpu, twos};
  device_buffer<float> c{rt(), gpu, 256};
  ticket const done =
      rt().submit(loaded().kernel(gpu_only_kernels.warp_multiply).with_shape({1}, {32})(a, b, c));
  EXPECT_EQ(fetch(c, {done}), std::vector<float>(256, 64.0f));
}

// requirement
TEST_F(GpuOnly, InlinePtx) {
  device_buffer<unsigned> lanes{rt(), gpu, 64};
  ticket const done =
      rt().submit(loaded().kernel(gpu_only_kernels.lane_numbers).with_shape({1}, {64})(lanes));
  std::vector<unsigned> const got = fetch(lanes, {done});
  for (unsigned i = 0; i < 64; ++i) { EXPECT_EQ(got[i], i % 32); }
}

// requirement: a launch may use more than 48 KiB of shared memory, alone and in a batch. The error
// of a launch that uses too much names the maximum
TEST_F(GpuOnly, ExternSharedMemoryAboveTheDefaultLimit) {
  auto const reverse = loaded().kernel(gpu_only_kernels.reverse);
  for (unsigned const bytes : {1024u, 49152u, 100u * 1024, 200u * 1024}) {
    for (bool const batch : {true, false}) {
      device_buffer<int> x{rt(), gpu, numbers(256)};
      ticket const done =
          rt().submit(reverse.with_shape({1}, {256}).shared(bytes)(x, bytes / 4), {.batch = batch});
      std::vector<int> const got = fetch(x, {done});
      EXPECT_EQ(got.front(), 256) << bytes;
      EXPECT_EQ(got.back(), 1) << bytes;
    }
  }
  device_buffer<int> x{rt(), gpu, numbers(256)};
  ticket const bad =
      rt().submit(reverse.with_shape({1}, {256}).shared(4u << 20)(x, 256u), {.batch = false});
  EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }),
              AllOf(HasSubstr("reverse"), HasSubstr("4194304 bytes of dynamic shared memory"),
                    HasSubstr("at most 1024 threads and ")));
}

// requirement
TEST_F(GpuOnly, CooperativeLaunches) {
  auto const rotate = loaded().kernel(gpu_only_kernels.grid_rotate);
  constexpr unsigned blocks = 64;
  device_buffer<unsigned> written{rt(), gpu, blocks}, read{rt(), gpu, blocks};
  ticket const done = rt().submit(rotate.with_shape({blocks}, {128}).cooperative()(written, read));
  std::vector<unsigned> const got = fetch(read, {done});
  for (unsigned i = 0; i < blocks; ++i) { EXPECT_EQ(got[i], (i + 1) % blocks); }
}

// requirement: the error names the kernel, the grid and the limit
TEST_F(GpuOnly, ACooperativeGridThatDoesNotFitIsRefused) {
  auto const rotate = loaded().kernel(gpu_only_kernels.grid_rotate);
  device_buffer<unsigned> words{rt(), gpu, 1};
  ticket const bad = rt().submit(rotate.with_shape({1u << 20}, {1024}).cooperative()(words, words));
  EXPECT_THAT(thrown<driver_error>([&] { bad.wait(); }),
              AllOf(HasSubstr("grid_rotate"), HasSubstr("grid 1048576 x 1 x 1"),
                    HasSubstr("a cooperative grid of such blocks at most ")));
}

// requirement: clusters whose size is in the source, among other launches of the same batch
TEST_F(GpuOnly, ClustersOfTheSource) {
  auto const pairs = loaded().kernel(gpu_only_kernels.cluster_of_two);
  auto const lanes = loaded().kernel(gpu_only_kernels.lane_numbers);
  device_buffer<unsigned> out{rt(), gpu, 8}, other{rt(), gpu, 32};
  for (int i = 0; i < 100; ++i) { rt().post(lanes.with_shape({1}, {32})(other)); }
  ticket const done = rt().submit(pairs.with_shape({8}, {32})(out));
  for (int i = 0; i < 100; ++i) { rt().post(lanes.with_shape({1}, {32})(other)); }
  EXPECT_EQ(fetch(out, {done}), (std::vector<unsigned>{101, 100, 101, 100, 101, 100, 101, 100}));
  rt().wait_idle();
}

// requirement: clusters of 8 blocks, and of 16 with the opt-in
TEST_F(GpuOnly, ClustersOfTheLaunch) {
  auto const clusters = loaded().kernel(gpu_only_kernels.cluster_of_launch);
  for (unsigned const size : {1u, 2u, 4u, 8u, 16u}) {
    device_buffer<unsigned> out{rt(), gpu, 32};
    auto const limit = size > 8 ? cluster_limit::non_portable : cluster_limit::portable;
    ticket const done = rt().submit(clusters.with_shape({32}, {32}).cluster({size}, limit)(out));
    std::vector<unsigned> const got = fetch(out, {done});
    for (unsigned i = 0; i < 32; ++i) { EXPECT_EQ(got[i], 100 + (i % size + 1) % size) << size; }
  }
}

// requirement: programmatic launches keep the order of a chain
TEST_F(GpuOnly, ProgrammaticLaunchesFollowTheirPredecessors) {
  auto const first = loaded().kernel(gpu_only_kernels.first_of_pair);
  auto const second = loaded().kernel(gpu_only_kernels.second_of_pair);
  std::vector<unsigned> const one{1};
  device_buffer<unsigned> x{rt(), gpu, one};
  unsigned expected = 1;
  ticket before;
  for (unsigned i = 0; i < 200; ++i) {
    dependency_list after;
    if (before.valid()) { after.add(before); }
    ticket const ahead =
        rt().submit(first.with_shape({1}, {1})(x, 3u, i), {.after = std::move(after)});
    before = rt().submit(second.with_shape({1}, {1}).programmatic()(x, 5u, 7u), {.after = {ahead}});
    expected = (expected * 3 + i) * 5 + 7;
  }
  EXPECT_EQ(fetch(x, {before}), std::vector<unsigned>{expected});
}

}  // namespace
}  // namespace flotilla::test
