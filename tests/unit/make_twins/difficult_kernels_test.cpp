// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The difficult kernels themselves, on a CPU device: a test of twins is useless if its kernels
// compute something else than their comments say.
#include <cstdint>
#include <string_view>
#include <vector>

#include "cpu_driver/kernel/grid.hpp"
#include "test_make_twins_kernels.hpp"
#include "twin_texts.hpp"

namespace flotilla::make_twins {
namespace {

class DifficultKernels : public ::testing::Test {
 protected:
  template <class... Arguments>
  void run(std::string_view name, cpu::index3 grid, cpu::index3 block, std::uint32_t shared,
           Arguments... arguments) {
    ASSERT_TRUE(image_) << cpu_driver::loaded_image::load_error();
    void* addresses[] = {&arguments..., nullptr};
    for (cpu::kernel_record const& k : image_->kernels()) {
      if (k.name != name) { continue; }
      ASSERT_EQ(k.parameter_count, sizeof...(Arguments));
      ASSERT_EQ(cpu_driver::run_grid({image_.get(), &k, grid, block, shared, 1024, addresses, {}}),
                cpu_driver::grid_end::completed);
      return;
    }
    FAIL() << "no kernel " << name;
  }

  decltype(cpu_driver::loaded_image::load(nullptr, 0)) image_ = cpu_driver::loaded_image::load(
      test_make_twins_kernels.cpu, test_make_twins_kernels.cpu_bytes);
};

TEST_F(DifficultKernels, WriteAllIndices) {
  std::vector<unsigned> out(12 * 24 * 4);
  run("all_indices", {2, 3, 4}, {2, 1, 2}, 0, out.data());
  std::size_t const thread = (3 * 6 + 1 * 2 + 1) * 4 + 3;  // block (1, 1, 3), thread (1, 0, 1)
  EXPECT_EQ(std::vector<unsigned>(&out[12 * thread], &out[12 * thread] + 12),
            (std::vector<unsigned>{1, 0, 1, 1, 1, 3, 2, 1, 2, 2, 3, 4}));
}

TEST_F(DifficultKernels, UseStaticAndDynamicSharedMemory) {
  std::vector<int> const in{1, 2, 4, 8, 10, 20, 40, 80};
  std::vector<int> out(8);
  run("static_and_dynamic_shared", {2, 1, 1}, {4, 1, 1}, 16, in.data(), out.data());
  EXPECT_EQ(out, (std::vector<int>{9, 6, 6, 9, 90, 60, 60, 90}));
}

TEST_F(DifficultKernels, ReadPaddedParameters) {
  struct padded {
    char a;
    double b;
    short c;
  };
  struct alignas(16) wide {
    float of[4];
  };
  double out = 0;
  run("padded_parameters", {1, 1, 1}, {1, 1, 1}, 0, char{1}, padded{2, 3.5, 4}, short{5}, 6.0f,
      char{7}, wide{{8, 0, 0, 9}}, static_cast<unsigned char>(10), &out);
  EXPECT_EQ(out, 1 + 2 + 3.5 + 4 + 5 + 6 + 7 + 8 + 18 + 10);
}

TEST_F(DifficultKernels, Switch) {
  std::vector<int> const cases{3, 4, 6, 7, 8, 1, 0, 2};
  std::vector<int> out(9);
  run("switches", {2, 1, 1}, {4, 1, 1}, 0, cases.data(), out.data());
  EXPECT_EQ(out, (std::vector<int>{0, 3, -2, 2 ^ 6, 7, -1, 23, 11, 4}));
}

}  // namespace
}  // namespace flotilla::make_twins
