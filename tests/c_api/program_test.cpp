// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Programs and kernels of the C interface.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

class CProgram : public c_api_test {
 protected:
  void SetUp() override {
    c_api_test::SetUp();
    file_ =
        std::filesystem::temp_directory_path() / ("flotilla_c_program_" + std::to_string(getpid()));
  }
  void TearDown() override {
    std::filesystem::remove(file_);
    c_api_test::TearDown();
  }
  /// Writes a file and returns its path.
  char const* write_file(void const* bytes, std::size_t size) {
    std::ofstream{file_, std::ios::binary}.write(static_cast<char const*>(bytes),
                                                 static_cast<std::streamsize>(size));
    return file_.c_str();
  }

 private:
  std::filesystem::path file_;
};
FLOTILLA_C_API(CProgram);

// requirement: the parameters of a kernel are those of its source
TEST_P(CProgram, KernelsHaveTheirParameters) {
  flotilla_kernel const mixed = kernel("mixed_parameters");
  std::size_t const expected[] = {1, 8, 2, 8, 4, sizeof(void*)};
  std::size_t count = 0, bytes = 0;
  FLOTILLA_C_OK(flotilla_kernel_parameter_count(mixed, &count));
  ASSERT_EQ(count, 6u);
  for (std::size_t i = 0; i < count; ++i) {
    FLOTILLA_C_OK(flotilla_kernel_parameter_bytes(mixed, i, &bytes));
    EXPECT_EQ(bytes, expected[i]) << "parameter " << i;
  }
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "6",
                   flotilla_kernel_parameter_bytes(mixed, 6, &bytes));
  FLOTILLA_C_OK(flotilla_kernel_parameter_count(kernel("nothing"), &count));
  EXPECT_EQ(count, 0u);
}

// requirement: a program can be loaded from a file
TEST_P(CProgram, LoadsAFile) {
  flotilla_image const image = c_test_image();
  char const* const path =
      on_gpus() ? write_file(image.gpu, image.gpu_bytes) : write_file(image.cpu, image.cpu_bytes);
  flotilla_program made{};
  FLOTILLA_C_OK(flotilla_program_load_file(rt, path, &made));
  flotilla_buffer const word = words(1);
  std::uint32_t const value = 8;
  flotilla_argument const arguments[] = {flotilla_address(word, 0), FLOTILLA_VALUE(value)};
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(flotilla_submit_launch(kernel_of(made, "write_value"), flotilla_over(1, 1),
                                       arguments, 2, nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(word), 8u);
}

// requirement: files and images that are no programs. The text names the file
TEST_P(CProgram, RefusesBadImages) {
  flotilla_program made{5};
  FLOTILLA_C_FAILS(FLOTILLA_BAD_IMAGE, "missing.fatbin",
                   flotilla_program_load_file(rt, "missing.fatbin", &made));
  EXPECT_EQ(made.id, 0u);
  char const* const path = write_file("This is no image.", 17);
  FLOTILLA_C_FAILS(FLOTILLA_BAD_IMAGE, "flotilla_c_program_",
                   flotilla_program_load_file(rt, path, &made));
  flotilla_image image = FLOTILLA_IMAGE_INIT;
  image.name = "empty one";
  FLOTILLA_C_FAILS(FLOTILLA_BAD_IMAGE, "empty one", flotilla_program_load(rt, &image, &made));
}

// requirement: kernels for GPUs only say so on CPU devices
TEST_P(CProgram, KnowsKernelsForGpusOnly) {
  FLOTILLA_NEED_CPU_DRIVER();
  static constexpr char const* names[] = {"tensor", nullptr};
  flotilla_image image = FLOTILLA_IMAGE_INIT;
  image.name = "solver";
  image.gpu_only = names;
  flotilla_program made{};
  flotilla_kernel found{5};
  FLOTILLA_C_OK(flotilla_program_load(rt, &image, &made));
  FLOTILLA_C_FAILS(FLOTILLA_GPU_ONLY_KERNEL, "tensor",
                   flotilla_program_kernel(made, "tensor", &found));
  EXPECT_EQ(found.id, 0u);
}

// requirement: unknown kernels, kernels that are too large, null pointers
TEST_P(CProgram, RefusesBadInput) {
  flotilla_image image = c_test_image();
  flotilla_program made{};
  flotilla_kernel found{5};
  std::size_t count = 0;
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_SYMBOL, "wirte_value",
                   flotilla_program_kernel(program, "wirte_value", &found));
  EXPECT_THAT(flotilla_last_error(), HasSubstr("write_value")) << "it lists the kernels";
  EXPECT_EQ(found.id, 0u);
  FLOTILLA_C_OK(flotilla_program_kernel(program, "sum_4092", &found));  // more than 4096 bytes
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_program_load(rt, nullptr, &made));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_program_load(rt, &image, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_program_load_file(rt, nullptr, &made));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_program_load_file(rt, "a", nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_program_kernel(program, nullptr, &found));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_program_kernel(program, "nothing", nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_kernel_parameter_count(kernel("nothing"), nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_kernel_parameter_bytes(kernel("add_to"), 0, nullptr));
  FLOTILLA_C_OK(flotilla_kernel_parameter_count(kernel("add_to"), &count));
  for (std::size_t const size : {std::size_t{0}, sizeof(std::size_t)}) {
    image.size = size;
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "size", flotilla_program_load(rt, &image, &made));
  }
}

// requirement: variables are written and read on each device
TEST_P(CProgram, CopiesVariables) {
  for (unsigned device = 0; device < 2; ++device) {
    std::uint32_t const start = 100 + device;
    FLOTILLA_C_OK(flotilla_program_write_global(program, device, "tally", &start, sizeof start));
  }
  flotilla_buffer const out = words(1);
  flotilla_argument const argument = flotilla_address(out, 0);
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(flotilla_submit_launch(kernel("tally_up"), flotilla_over(1, 1), &argument, 1,
                                       nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(out), 104u);  // the kernel adds 3
  std::uint32_t seen[2] = {0, 0};
  for (unsigned device = 0; device < 2; ++device) {
    FLOTILLA_C_OK(flotilla_program_read_global(program, device, "tally", &seen[device], 4));
  }
  EXPECT_EQ(seen[0], 100u);
  EXPECT_EQ(seen[1], 104u);
}

// requirement: unknown variables and devices, too many bytes, and null pointers
TEST_P(CProgram, RefusesBadVariables) {
  std::uint64_t wide = 0;
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_SYMBOL, "no_such",
                   flotilla_program_read_global(program, 0, "no_such", &wide, 4));
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_SYMBOL, "no_such",
                   flotilla_program_write_global(program, 0, "no_such", &wide, 4));
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "2",
                   flotilla_program_read_global(program, 2, "tally", &wide, 4));
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "2",
                   flotilla_program_write_global(program, 2, "tally", &wide, 4));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "tally",
                   flotilla_program_read_global(program, 0, "tally", &wide, 8));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "tally",
                   flotilla_program_write_global(program, 0, "tally", &wide, 8));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_program_read_global(program, 0, nullptr, &wide, 4));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_program_read_global(program, 0, "tally", nullptr, 4));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_program_write_global(program, 0, nullptr, &wide, 4));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_program_write_global(program, 0, "tally", nullptr, 4));
}

}  // namespace
}  // namespace flotilla::test
