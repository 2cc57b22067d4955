// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The results of the kernels in the folder kernels/ must equal results that the host computes.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <openssl/sha.h>

#include "flotilla_kernels.hpp"
#include "kernel_runner.hpp"

namespace flotilla::cpu_driver {
namespace {

class RealKernels : public testing::Test {
 protected:
  std::vector<float> numbers(std::size_t count) {
    std::uniform_real_distribution<float> distribution{-1.0f, 1.0f};
    std::vector<float> made(count);
    for (float& f : made) { f = distribution(random_); }
    return made;
  }

  std::mt19937 random_{12345};
  kernel_runner runner_{flotilla_kernels};
};

TEST_F(RealKernels, NullAndStore) {
  EXPECT_EQ(runner_.run("null_kernel", blocks_of(100, 256)), grid_end::completed);
  int where = 0;
  EXPECT_EQ(runner_.run("store", {}, &where, 7), grid_end::completed);
  EXPECT_EQ(where, 7);
}

TEST_F(RealKernels, FillStopsAtTheEnd) {
  for (unsigned long long const count : {0ull, 1ull, 1000ull, 65536ull}) {
    std::vector<unsigned> data(count + 1, 1);
    ASSERT_EQ(runner_.run("fill", blocks_of(8, 64), data.data(), 0xabcdu, count),
              grid_end::completed);
    EXPECT_EQ(std::count(data.begin(), data.end(), 0xabcdu), static_cast<std::ptrdiff_t>(count));
    EXPECT_EQ(data[count], 1u);
  }
}

TEST_F(RealKernels, Saxpy) {
  std::vector<float> const x = numbers(10'000);
  std::vector<float> const before = numbers(10'000);
  std::vector<float> y = before;
  ASSERT_EQ(runner_.run("saxpy", blocks_of(40, 256), 2.5f, x.data(), y.data(), 10'000),
            grid_end::completed);
  for (std::size_t i = 0; i < y.size(); ++i) { ASSERT_NEAR(y[i], 2.5f * x[i] + before[i], 1e-6); }
}

TEST_F(RealKernels, Sum) {
  for (std::size_t const count : {1u, 31u, 1000u, 100'000u}) {
    std::vector<float> const data = numbers(count);
    double const expected = std::accumulate(data.begin(), data.end(), 0.0);
    for (shape const& s :
         {blocks_of(1, 32), blocks_of(7, 96), blocks_of(20, 256), blocks_of(2, 1024)}) {
      float total = 0;
      ASSERT_EQ(runner_.run("sum", s, data.data(), static_cast<unsigned long long>(count), &total),
                grid_end::completed);
      EXPECT_NEAR(total, expected, 1e-3 * std::sqrt(static_cast<double>(count)));
    }
  }
}

TEST_F(RealKernels, Sgemm) {
  for (auto const [m, n, k] : {std::array{1, 1, 1}, std::array{64, 64, 16}, std::array{70, 130, 33},
                               std::array{5, 200, 1}}) {
    auto const a = numbers(static_cast<std::size_t>(m * k)),
               b = numbers(static_cast<std::size_t>(k * n));
    for (float const beta : {0.0f, -0.5f}) {
      auto const before = numbers(static_cast<std::size_t>(m * n));
      auto c = before;
      shape const s{
          {static_cast<std::uint32_t>(n + 63) / 64, static_cast<std::uint32_t>(m + 63) / 64, 1},
          {16, 16, 1},
          0};
      ASSERT_EQ(runner_.run("sgemm", s, m, n, k, 1.5f, a.data(), b.data(), beta, c.data()),
                grid_end::completed);
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
          double sum = 0;
          for (int z = 0; z < k; ++z) {
            sum += static_cast<double>(a[static_cast<std::size_t>(i * k + z)]) *
                   b[static_cast<std::size_t>(z * n + j)];
          }
          auto const at = static_cast<std::size_t>(i * n + j);
          ASSERT_NEAR(c[at], 1.5 * sum + beta * static_cast<double>(before[at]), 1e-4)
              << i << " " << j;
        }
      }
    }
  }
}

TEST_F(RealKernels, Sha256AgreesWithLibcrypto) {
  std::vector<unsigned char> data(20'000);
  for (auto& byte : data) { byte = static_cast<unsigned char>(random_()); }
  for (std::size_t const block_bytes :
       {1u, 55u, 56u, 63u, 64u, 65u, 119u, 120u, 128u, 1000u, 4096u, 30'000u}) {
    for (std::size_t const offset : {0u, 1u, 2u}) {
      std::size_t const bytes = std::min(data.size() - offset, block_bytes * 40 - block_bytes / 3);
      std::size_t const blocks = (bytes + block_bytes - 1) / block_bytes;
      std::vector<std::array<unsigned char, 32>> digests(blocks);
      shape const s = blocks_of(static_cast<std::uint32_t>(blocks + 31) / 32, 32);
      ASSERT_EQ(runner_.run("sha256_blocks", s, data.data() + offset,
                            static_cast<unsigned long long>(bytes),
                            static_cast<unsigned long long>(block_bytes),
                            static_cast<unsigned long long>(blocks), digests.data()->data()),
                grid_end::completed);
      for (std::size_t i = 0; i < blocks; ++i) {
        std::array<unsigned char, 32> expected{};
        std::size_t const start = i * block_bytes;
        SHA256(data.data() + offset + start, std::min(block_bytes, bytes - start), expected.data());
        ASSERT_EQ(digests[i], expected) << "block " << i << " of " << block_bytes << " bytes";
      }
    }
  }
}

TEST_F(RealKernels, Sha256OfNothing) {
  std::array<unsigned char, 32> digest{}, expected{};
  unsigned char const nothing = 0;
  SHA256(&nothing, 0, expected.data());
  ASSERT_EQ(runner_.run("sha256_blocks", {}, &nothing, 0ull, 64ull, 1ull, digest.data()),
            grid_end::completed);
  EXPECT_EQ(digest, expected);
}

TEST_F(RealKernels, SpinTakesAsLongAsItIsTold) {
  auto const start = std::chrono::steady_clock::now();
  ASSERT_EQ(runner_.run("spin", {}, 2'000'000ull), grid_end::completed);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2));
}

}  // namespace
}  // namespace flotilla::cpu_driver
