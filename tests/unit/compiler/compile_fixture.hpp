// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles kernels on CPU devices, with a cache of the test.

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <flotilla/kernel/compile.hpp>
#include <flotilla/runtime.hpp>

#include "unit/compiler/folder_fixture.hpp"

namespace flotilla::test {

inline constexpr char scale_source[] = R"(
extern "C" __global__ void scale(float* x, float a, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] *= a; }
}
)";

class compile_fixture : public folder_fixture {
 protected:
  void SetUp() override {
    folder_fixture::SetUp();
    options_.cache_directory = folder() / "cache";
    rt_.emplace(runtime_options{.devices = "cpu:2"});
  }
  void TearDown() override {
    rt_.reset();
    folder_fixture::TearDown();
  }

  [[nodiscard]] program compiled(std::string_view source) {
    return compile(*rt_, source, options_);
  }
  /// Runs a kernel (float*, int) on the last device, over 0, 1, 2, ..., and returns the memory.
  [[nodiscard]] std::vector<float> run(program const& loaded, std::string const& name) {
    std::vector<float> values(100);
    std::iota(values.begin(), values.end(), 0.0f);
    int const n = static_cast<int>(values.size());
    device_buffer<float> x{*rt_, device_ordinal{1}, values};
    auto const kernel = loaded.kernel<float*, int>(name);
    ticket const done = rt_->submit(kernel.over(n)(x, n));
    rt_->submit(x.copy_to(values), {.after = {done}}).wait();
    return values;
  }
  [[nodiscard]] std::size_t cache_entries() const {
    std::size_t count = 0;
    for (auto const& each : std::filesystem::directory_iterator{options_.cache_directory}) {
      count += each.path().extension() == ".kernels" ? 1 : 0;
    }
    return count;
  }

  compile_options options_;
  std::optional<runtime> rt_;
};

}  // namespace flotilla::test
