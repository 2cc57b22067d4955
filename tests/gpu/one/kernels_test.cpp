// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Every kernel of kernels/ gives the same result on a GPU as on the host.

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include <flotilla/flotilla.hpp>

#include <flotilla_kernels.hpp>

#include "one_gpu_test.hpp"

namespace flotilla::test {
namespace {

class GpuKernels : public one_gpu_test {
 protected:
  GpuKernels() : one_gpu_test{flotilla_kernels} {}

  static std::vector<float> numbers(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>((i * 37 + 11) % 101) / 8.0f - 6.0f;
    }
    return values;
  }
};

// requirement
TEST_F(GpuKernels, StoreWritesItsValue) {
  rt().submit(loaded().kernel<>("null_kernel").with_shape({8}, {32})()).wait();
  device_buffer<int> where{rt(), gpu, 1};
  ticket const done =
      rt().submit(loaded().kernel<int*, int>("store").with_shape({1}, {1})(where, -5));
  EXPECT_EQ(fetch(where, {done}), std::vector<int>{-5});
}

// requirement
TEST_F(GpuKernels, FillWritesEveryElement) {
  device_buffer<std::uint32_t> data{rt(), gpu, 100'003};
  auto const fill = loaded().kernel<std::uint32_t*, std::uint32_t, unsigned long long>("fill");
  ticket const done = rt().submit(fill.with_shape({64}, {256})(data, 0xfeedu, data.size()));
  EXPECT_EQ(fetch(data, {done}), std::vector<std::uint32_t>(data.size(), 0xfeedu));
}

// requirement
TEST_F(GpuKernels, SaxpyMatchesTheHost) {
  std::vector<float> const x = numbers(10'007);
  std::vector<float> y(x.size(), 2.0f);
  device_buffer<float> there_x{rt(), gpu, x}, there_y{rt(), gpu, y};
  auto const saxpy = loaded().kernel<float, float const*, float*, int>("saxpy");
  ticket const done =
      rt().submit(saxpy.over(x.size())(3.0f, there_x, there_y, static_cast<int>(x.size())));
  for (std::size_t i = 0; i < x.size(); ++i) { y[i] = std::fma(3.0f, x[i], y[i]); }
  EXPECT_EQ(fetch(there_y, {done}), y);  // all values are multiples of 1/8, so no rounding occurs
}

// requirement
TEST_F(GpuKernels, SumMatchesTheHost) {
  std::vector<float> const data = numbers(1'000'001);
  float const nothing = 0;
  device_buffer<float> there{rt(), gpu, data}, total{rt(), gpu, std::span{&nothing, 1}};
  auto const sum = loaded().kernel<float const*, unsigned long long, float*>("sum");
  ticket const done = rt().submit(sum.with_shape({132}, {1024})(there, data.size(), total));
  double const expected = std::accumulate(data.begin(), data.end(), 0.0);
  EXPECT_NEAR(fetch(total, {done})[0], expected, std::abs(expected) * 1e-4 + 1.0);
}

// requirement: matrix sizes need not be multiples of the tile size
TEST_F(GpuKernels, SgemmMatchesTheHost) {
  constexpr int m = 129, n = 70, k = 45;
  std::vector<float> const a = numbers(m * k), b = numbers(k * n);
  std::vector<float> const c(m * n, 1.0f);
  device_buffer<float> there_a{rt(), gpu, a}, there_b{rt(), gpu, b}, there_c{rt(), gpu, c};
  auto const sgemm =
      loaded().kernel<int, int, int, float, float const*, float const*, float, float*>("sgemm");
  ticket const done = rt().submit(sgemm.with_shape({(n + 63) / 64, (m + 63) / 64}, {16, 16})(
      m, n, k, 0.5f, there_a, there_b, 2.0f, there_c));
  std::vector<float> const got = fetch(there_c, {done});
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int i = 0; i < k; ++i) { sum += double{a[row * k + i]} * double{b[i * n + column]}; }
      ASSERT_NEAR(got[row * n + column], 0.5 * sum + 2.0, 1e-2) << row << ',' << column;
    }
  }
}

std::string hex(std::uint8_t const* digest) {
  std::string text;
  for (int i = 0; i < 32; ++i) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[digest[i] >> 4];
    text += digits[digest[i] & 15];
  }
  return text;
}

// requirement: the kernel computes the digests of two examples in FIPS 180-4; the two messages are
// blocks of one buffer
TEST_F(GpuKernels, Sha256MatchesTheStandardsExamples) {
  std::string const two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  std::vector<std::uint8_t> data(two_blocks.begin(), two_blocks.end());
  for (char const each : {'a', 'b', 'c'}) { data.push_back(static_cast<std::uint8_t>(each)); }
  device_buffer<std::uint8_t> there{rt(), gpu, data}, digests{rt(), gpu, 64};
  auto const sha256 = loaded()
                          .kernel<std::uint8_t const*, unsigned long long, unsigned long long,
                                  unsigned long long, std::uint8_t*>("sha256_blocks");
  ticket const done =
      rt().submit(sha256.over(2)(there, data.size(), two_blocks.size(), 2, digests));
  std::vector<std::uint8_t> const got = fetch(digests, {done});
  EXPECT_EQ(hex(got.data()), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(got.data() + 32),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// requirement
TEST_F(GpuKernels, SpinTakesItsTime) {
  auto const begin = std::chrono::steady_clock::now();
  rt().submit(loaded().kernel<unsigned long long>("spin").with_shape({1}, {1})(3'000'000ull))
      .wait();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds{3});
}

}  // namespace
}  // namespace flotilla::test
