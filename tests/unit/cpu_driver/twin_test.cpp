// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The twins of kernels, with which one grid runs many launches.
#include "driver_test.hpp"

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include <flotilla/detail/kernel_twin.hpp>

namespace flotilla::cpu_driver {
namespace {

std::string twin_name(std::string const& kernel) {
  return kernel + std::string{detail::twin_suffix};
}

/// The arguments of note_place as the driver packs them.
struct place_arguments {
  int scale;
  unsigned* to;
};

class TwinTest : public ContextTest {
 protected:
  static constexpr unsigned threads = 7;
  static constexpr std::uint32_t stride = detail::twin_record_stride(sizeof(place_arguments));
  static constexpr std::size_t max_bytes = 4096;

  void SetUp() override {
    ContextTest::SetUp();
    memory_ = shared<std::byte>(max_bytes);
  }
  void add(std::array<std::uint32_t, 3> grid, int scale, unsigned* to) {
    std::byte* const record = memory_ + std::size_t{count_++} * stride;
    detail::twin_record const head{blocks_, grid};
    place_arguments const arguments{scale, to};
    std::memcpy(record, &head, sizeof head);
    std::memcpy(record + sizeof head, &arguments, sizeof arguments);
    blocks_ += grid[0] * grid[1] * grid[2];
  }
  void run(std::uint32_t blocks_each, std::uint32_t const* table = nullptr) {
    auto records = reinterpret_cast<std::uint64_t>(memory_);
    auto blocks = reinterpret_cast<std::uint64_t>(table);
    std::uint32_t bytes = stride;
    void* arguments[] = {&records, &blocks, &bytes, &blocks_each};
    EXPECT_OK(cu::cuLaunchKernel(function(twin_name("note_place").c_str()), blocks_, 1, 1, threads,
                                 1, 1, 0, nullptr, arguments, nullptr));
    EXPECT_OK(cu::cuCtxSynchronize());
  }
  static unsigned expected(int scale, unsigned block) {
    return static_cast<unsigned>(scale) * (100 * threads + block);
  }

 private:
  std::byte* memory_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t blocks_ = 0;
};

TEST_F(TwinTest, EachBlockSeesItsOwnLaunch) {
  unsigned* const to = shared<unsigned>(60);
  for (int i = 0; i < 10; ++i) { add({3, 2, 1}, i + 1, to + 6 * i); }
  run(6);
  for (unsigned i = 0; i < 60; ++i) {
    EXPECT_EQ(to[i], expected(static_cast<int>(i / 6) + 1, i % 6)) << i;
  }
}

TEST_F(TwinTest, LaunchesMayHaveDifferentGrids) {
  unsigned* const to = shared<unsigned>(13);
  auto* const table = shared<std::uint32_t>(13);
  add({1, 1, 1}, 5, to);
  add({2, 2, 2}, 7, to + 1);
  add({1, 4, 1}, 9, to + 9);
  for (unsigned i = 0; i < 13; ++i) { table[i] = i == 0 ? 0 : i < 9 ? 1 : 2; }
  run(0, table);
  for (unsigned i = 0; i < 13; ++i) {
    EXPECT_EQ(to[i], i == 0  ? expected(5, 0)
                     : i < 9 ? expected(7, i - 1)
                             : expected(9, i - 9))
        << i;
  }
}

TEST_F(TwinTest, ManyBlocksRunOnSeveralThreads) {
  constexpr unsigned count = 400;
  unsigned* const to = shared<unsigned>(count);
  static_assert(count / 8 * stride <= max_bytes);
  for (unsigned i = 0; i < count / 8; ++i) { add({8, 1, 1}, 3, to + 8 * i); }
  for (int repeat = 1; repeat <= 20; ++repeat) {
    run(8);
    for (unsigned i = 0; i < count; ++i) {
      ASSERT_EQ(to[i], static_cast<unsigned>(repeat) * expected(3, i % 8)) << i;
    }
  }
}

TEST_F(TwinTest, OnlyItsNameFindsATwin) {
  CUlibrary library = nullptr;
  ASSERT_OK(cu::cuLibraryLoadData(&library, test_cpu_driver_kernels.cpu, nullptr, nullptr, 0,
                                  nullptr, nullptr, 0));
  unsigned count = 0;
  EXPECT_OK(cu::cuLibraryGetKernelCount(&count, library));
  std::vector<CUkernel> all(count);
  EXPECT_OK(cu::cuLibraryEnumerateKernels(all.data(), count, library));
  char const* name = nullptr;
  for (CUkernel const each : all) {
    EXPECT_OK(cu::cuKernelGetName(&name, each));
    EXPECT_FALSE(std::string_view{name}.ends_with(detail::twin_suffix)) << name;
  }
  CUkernel twin = nullptr;
  EXPECT_OK(cu::cuLibraryGetKernel(&twin, library, twin_name("store").c_str()));
  EXPECT_OK(cu::cuKernelGetName(&name, twin));
  EXPECT_EQ(name, twin_name("store"));
  EXPECT_OK(cu::cuLibraryUnload(library));
}

TEST_F(TwinTest, AVariableOfTheImageExcludesAKernel) {
  CUfunction found = nullptr;
  EXPECT_OK(cu::cuModuleGetFunction(&found, module_, "nothing"));
  EXPECT_STATUS(CUDA_ERROR_NOT_FOUND,
                cu::cuModuleGetFunction(&found, module_, twin_name("nothing").c_str()));
}

}  // namespace
}  // namespace flotilla::cpu_driver
