// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Images: the kernels that are found in a source, copies with their own variables, and data that is
// not an image.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "kernel_runner.hpp"

namespace flotilla::cpu_driver {
namespace {

bool has_kernel(kernel_runner const& runner, std::string_view name) {
  for (auto const& k : runner.loaded().kernels()) {
    if (k.name == name) { return true; }
  }
  return false;
}

bool has_global(kernel_runner const& runner, std::string_view name) {
  for (auto const& g : runner.loaded().globals()) {
    if (g.name == name) { return true; }
  }
  return false;
}

TEST(Image, HasTheKernelsOfTheSourceAndNoOthers) {
  kernel_runner runner;
  EXPECT_TRUE(has_kernel(runner, "kernel_in_a_c_block"));
  EXPECT_TRUE(has_kernel(runner, "kernel_in_a_namespace"));
  EXPECT_FALSE(has_kernel(runner, "for_gpus_alone"));
  EXPECT_FALSE(has_kernel(runner, "in_a_comment"));
  EXPECT_FALSE(has_kernel(runner, "in_another"));
  char literals[8] = {};
  ASSERT_EQ(runner.run("write_literals", {}, &literals[0]), grid_end::completed);
  EXPECT_STREQ(literals, "\"'{}\\\\{");
  int out = 0;
  ASSERT_EQ(runner.run("kernel_in_a_namespace", {}, &out), grid_end::completed);
  EXPECT_EQ(out, 3);
}

TEST(Image, HasTheVariablesThatAGpuWouldShow) {
  kernel_runner runner;
  EXPECT_EQ(runner.global<int>("counter"), 7);
  EXPECT_EQ((runner.global<float[4]>("coefficients")[3]), 4.0f);
  EXPECT_EQ(runner.global<double>("in_a_c_block"), 0.25);
  EXPECT_TRUE(has_global(runner, "small") && has_global(runner, "other"));
  EXPECT_FALSE(has_global(runner, "not_found_by_name") || has_global(runner, "also_not_found"));
}

TEST(Image, LaysParametersOutAsNvccDoes) {
  kernel_runner runner;
  cpu::kernel_record const& k = runner.kernel("many_parameters");
  ASSERT_EQ(k.parameter_count, 8u);
  // The parameter types are char, double, short, float3, {char, double}, unsigned char, int4,
  // pointer.
  std::vector<std::uint32_t> const offsets(k.parameter_offsets, k.parameter_offsets + 8);
  std::vector<std::uint32_t> const sizes(k.parameter_sizes, k.parameter_sizes + 8);
  EXPECT_EQ(offsets, (std::vector<std::uint32_t>{0, 8, 16, 20, 32, 48, 64, 80}));
  EXPECT_EQ(sizes, (std::vector<std::uint32_t>{1, 8, 2, 12, 16, 1, 16, 8}));
  EXPECT_EQ(runner.kernel("say").parameter_offsets[0], 0u);
  EXPECT_EQ(runner.kernel("with_bounds").parameter_count, 0u);
  EXPECT_EQ(runner.kernel("with_bounds").max_threads_per_block, 128u);
  EXPECT_EQ(runner.kernel("say").max_threads_per_block, 0u);
}

TEST(Image, PassesArgumentsOfAnyAlignment) {
  struct float3_like {
    float x, y, z;
  };
  struct mixed {
    char c;
    double d;
  };
  struct alignas(16) int4_like {
    int x, y, z, w;
  };
  kernel_runner runner;
  double out[7] = {};
  ASSERT_EQ(runner.run("many_parameters", {}, char{1}, 2.0, short{3}, float3_like{0, 0, 4},
                       mixed{'x', 5.0}, static_cast<unsigned char>(6), int4_like{0, 0, 0, 7},
                       static_cast<void*>(out)),
            grid_end::completed);
  for (int i = 0; i < 7; ++i) { EXPECT_EQ(out[i], i + 1); }
}

TEST(Image, EachCopyHasVariablesOfItsOwn) {
  std::vector<std::unique_ptr<kernel_runner>> copies;
  for (int i = 0; i < 5; ++i) { copies.push_back(std::make_unique<kernel_runner>()); }
  copies[1]->global<float[4]>("coefficients")[2] = 30.0f;
  for (int i = 0; i < 5; ++i) {
    float out[4] = {};
    for (int again = 0; again <= i; ++again) {
      ASSERT_EQ(copies[static_cast<std::size_t>(i)]->run("read_and_count", {}, &out[0]),
                grid_end::completed);
    }
    EXPECT_EQ(out[2], i == 1 ? 30.0f : 3.0f);
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(copies[static_cast<std::size_t>(i)]->global<int>("counter"), 8 + i);
  }
  copies.clear();
  EXPECT_EQ(kernel_runner{}.global<int>("counter"), 7);  // the initial value
}

TEST(Image, ManyCopiesAreLoadedAndUnloaded) {
  for (int i = 0; i < 300; ++i) {
    kernel_runner first, second;
    first.global<int>("counter") = i;
    ASSERT_EQ(second.global<int>("counter"), 7);
    std::vector<int> data(33);  // the kernel uses shared memory, which is a thread-local variable
    ASSERT_EQ(second.run("rotate_often", blocks_of(1, 33), data.data(), 1), grid_end::completed);
  }
}

class NoImage : public testing::Test {
 protected:
  static std::vector<char> good() {
    auto const* const bytes = static_cast<char const*>(test_kernel_language_kernels.cpu);
    return std::vector<char>(bytes, bytes + test_kernel_language_kernels.cpu_bytes);
  }
  static void expect_refused(std::span<char const> bytes) {
    EXPECT_FALSE(loaded_image::recognised(bytes.data(), bytes.size()));
    EXPECT_EQ(loaded_image::load(bytes.data(), bytes.size()), nullptr);
    EXPECT_STRNE(loaded_image::load_error(), "");
  }
};

TEST_F(NoImage, GoodOneIsRecognisedWithAndWithoutItsLength) {
  EXPECT_TRUE(loaded_image::recognised(test_kernel_language_kernels.cpu));
  EXPECT_TRUE(loaded_image::recognised(good().data(), good().size()));
}

TEST_F(NoImage, GarbageIsNotRecognised) {
  EXPECT_FALSE(loaded_image::recognised(nullptr));
  EXPECT_FALSE(loaded_image::recognised("PTX?"));
  expect_refused({});
  expect_refused(
      std::string_view{"\x7f"
                       "ELF"});
  std::mt19937 random{1};
  for (int i = 0; i < 1000; ++i) {
    std::vector<char> bytes(random() % 4096);
    for (char& b : bytes) { b = static_cast<char>(random()); }
    if (bytes.size() >= 4 && i % 2 == 0) {
      std::memcpy(bytes.data(),
                  "\x7f"
                  "ELF",
                  4);
    }
    EXPECT_FALSE(loaded_image::recognised(bytes.data(), bytes.size()));
  }
}

TEST_F(NoImage, TruncatedImageIsNotRecognised) {
  std::vector<char> const whole = good();
  for (std::size_t length = 0; length < whole.size(); length += 97) {
    expect_refused(std::span{whole}.first(length));
  }
}

TEST_F(NoImage, DamagedHeadersAreNeverReadPastTheEnd) {
  std::mt19937 random{2};
  std::vector<char> const whole = good();
  for (int i = 0; i < 1000; ++i) {
    std::vector<char> bytes = whole;
    for (int hits = 0; hits < 4; ++hits) { bytes[random() % 0x300] = static_cast<char>(random()); }
    // The result does not matter. AddressSanitizer checks the reads.
    static_cast<void>(loaded_image::recognised(bytes.data(), bytes.size()));
  }
}

TEST_F(NoImage, OtherSharedObjectsAndFatbinsAreNotRecognised) {
  std::ifstream file{"/proc/self/exe", std::ios::binary};
  std::vector<char> program(std::filesystem::file_size("/proc/self/exe"));
  file.read(program.data(), static_cast<std::streamsize>(program.size()));
  expect_refused(program);
  if (test_kernel_language_kernels.gpu != nullptr) {
    EXPECT_FALSE(loaded_image::recognised(test_kernel_language_kernels.gpu));
  }
}

TEST_F(NoImage, OtherAbiIsNotRecognised) {
  std::vector<char> bytes = good();
  char const note[] = "flotilla\0\0\0\0\2";
  auto const at = std::search(bytes.begin(), bytes.end(), note, note + 13);
  ASSERT_NE(at, bytes.end());
  at[12] = 99;
  expect_refused(bytes);
}

}  // namespace
}  // namespace flotilla::cpu_driver
