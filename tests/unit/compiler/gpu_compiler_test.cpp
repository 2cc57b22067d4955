// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Compiles for GPUs without a GPU, and looks at the code. Built only if there is an NVRTC.
#include "compiler/gpu_compiler.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include <flotilla/detail/kernel_twin.hpp>
#include <flotilla/error/error.hpp>

#include "compiler/bundled_headers.hpp"
#include "compiler/cached_compilation.hpp"
#include "compiler/checked_options.hpp"
#include "make_twins/add_twins.hpp"
#include "unit/compiler/folder_fixture.hpp"

namespace flotilla::compiler {
namespace {

constexpr char saxpy[] = R"(
extern "C" __global__ void saxpy(float a, float const* x, float* y, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { y[i] = a * x[i] + y[i]; }
}
)";

// A GPU with several architectures beside it, so that the result is PTX, which a test can read.
constexpr gpu_target any_of_several{90, false};
constexpr gpu_target only_one{90, true};

class GpuCompiler : public test::folder_fixture {
 protected:
  GpuCompiler() {
    options_.nvrtc = FLOTILLA_TEST_NVRTC;
    options_.cache = false;
  }
  [[nodiscard]] compiled_code compile(std::string_view source,
                                      gpu_target target = any_of_several) const {
    return compile_for_gpus(source, checked_options(options_), target);
  }
  [[nodiscard]] std::string ptx(std::string_view source) const { return compile(source).bytes; }
  static bool has(std::string const& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }
  static std::string twin_of(std::string const& kernel) {
    return ".entry " + kernel + std::string{detail::twin_suffix};
  }
  static bool is_elf(std::string const& bytes) {
    return bytes.starts_with(
        "\x7f"
        "ELF");
  }

  compile_options options_;
};

// requirement: fused twins are included
TEST_F(GpuCompiler, KernelsHaveTwins) {
  std::string const code = ptx(saxpy);
  EXPECT_TRUE(code.ends_with('\0'));
  EXPECT_TRUE(has(code, ".target sm_90"));
  EXPECT_TRUE(has(code, ".entry saxpy("));
  EXPECT_TRUE(has(code, twin_of("saxpy")));
}

// requirement
TEST_F(GpuCompiler, TwinsCanBeTurnedOff) {
  options_.fused = false;
  EXPECT_FALSE(has(ptx(saxpy), "flotilla_twin"));
  options_.fused = true;
  std::string const without = std::string{saxpy} + "FLOTILLA_NO_TWIN(saxpy);\n";
  EXPECT_FALSE(has(ptx(without), "flotilla_twin"));
}

// requirement: a kernel that suits no twin is found, and works without one
TEST_F(GpuCompiler, UnsuitableKernelsHaveNoTwinAndAReason) {
  compiled_code const made = compile(std::string{saxpy} + R"(
extern "C" __global__ void which(unsigned long long* id) {
  asm volatile("mov.u64 %0, %%gridid;" : "=l"(*id));
})");
  EXPECT_TRUE(has(made.bytes, ".entry which("));
  EXPECT_FALSE(has(made.bytes, twin_of("which")));
  EXPECT_TRUE(has(made.bytes, twin_of("saxpy")));
  EXPECT_TRUE(has_logged("kernels.cu: no twin of kernel which: it reads %gridid"));
}

// requirement: with one architecture the result is machine code with the kernel and its twin
TEST_F(GpuCompiler, OneArchitectureGivesMachineCode) {
  std::string const code = compile(saxpy, only_one).bytes;
  ASSERT_TRUE(is_elf(code)) << "nvJitLink is a part of the toolkit that has NVRTC";
  EXPECT_TRUE(has(code, ".text.saxpy"));
  EXPECT_TRUE(has(code, ".text.saxpy" + std::string{detail::twin_suffix}));
}

// requirement
TEST_F(GpuCompiler, NameExpressionsMakeInstancesOfTemplates) {
  options_.name_expressions = {"scale<float>", "mine::scale<double, 3>"};
  compiled_code const made = compile(R"(
template <class T> __global__ void scale(T* x, T a, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] *= a; }
}
namespace mine { template <class T, int n> __global__ void scale(T* x) { *x *= n; } }
)");
  ASSERT_EQ(made.aliases.size(), 2u);
  for (kernel_alias const& each : made.aliases) {
    EXPECT_TRUE(has(made.bytes, ".entry " + each.symbol + "(")) << each.symbol;
    EXPECT_TRUE(has(made.bytes, twin_of(each.symbol))) << each.symbol;
  }
  EXPECT_EQ(made.aliases[0].expression, "scale<float>");
  EXPECT_TRUE(made.aliases[0].symbol.starts_with("_Z5scaleIf"));
}

// requirement: the language of flotilla's kernels, and headers of the C library, are there
TEST_F(GpuCompiler, TheKernelLanguageIsIncluded) {
  write("own/offset.hpp", "constexpr int offset = OFFSET;");
  options_.include_directories = {folder() / "own"};
  options_.defines = {"OFFSET=7"};
  std::string const code = ptx(R"(
#include <cassert>
#include <cstdint>
#include <cmath>
#include <cstring>
#include <cfloat>
#include <climits>
#include <stdio.h>
#include "offset.hpp"
extern "C" __global__ void all(std::uint32_t* x, flotilla::task_status status) {
  FLOTILLA_DYNAMIC_SHARED(float, memory);
  memory[threadIdx.x] = std::sqrt(float(*x)) + FLT_MAX + UINT_MAX;
  __syncthreads();
  std::memcpy(memory, x, 4);
  assert(*x < SIZE_MAX);
  if (*x == offset) { flotilla::fail(status, 3); }
  if (memory[0] == INFINITY) { printf("%u\n", *x + unsigned(flotilla_globaltimer())); }
})");
  EXPECT_TRUE(has(code, ".entry all("));
  EXPECT_TRUE(has(code, "vprintf"));
}

// requirement: all of CUDA that the toolkit has headers for
TEST_F(GpuCompiler, HeadersOfTheToolkitAreFound) {
  EXPECT_TRUE(has(ptx("#include <cuda_fp16.h>\nextern \"C\" __global__ void h(__half* x) { *x = "
                      "__hadd(*x, *x); }"),
                  ".entry h("));
}

// What NVRTC itself contains is used only if there are no headers of a toolkit.
#define FLOTILLA_NEED_BUNDLED_HEADERS()                                                           \
  if (nvrtc_library const& it = open_nvrtc(checked_options(options_));                            \
      it.install_headers == nullptr || !it.include_folders.empty()) {                             \
    GTEST_SKIP() << "needs NVRTC 13.3 or later without a toolkit, but " << it.file.path << " is " \
                 << it.major << "." << it.minor                                                   \
                 << (it.include_folders.empty() ? "" : " and has the headers of a toolkit");      \
  }

constexpr char with_headers[] = R"(
#include <cub/block/block_reduce.cuh>
#include <cuda/std/array>
#include <cuda_fp16.h>
extern "C" __global__ void h(__half* x) {
  using reduction = cub::BlockReduce<float, 32>;
  __shared__ reduction::TempStorage memory;
  cuda::std::array<__half, 2> const two{x[0], __hadd(x[1], x[1])};
  float const all = reduction{memory}.Sum(__half2float(two[threadIdx.x % 2]));
  if (threadIdx.x == 0) { *x = all; }
}
)";

std::size_t files_in(std::filesystem::path const& folder, std::string const& begin) {
  std::size_t count = 0;
  for (auto const& each : std::filesystem::directory_iterator{folder}) {
    count += each.path().filename().string().starts_with(begin);
  }
  return count;
}

// requirement: cuda::std, half and CUB are there without a toolkit, if NVRTC contains them
TEST_F(GpuCompiler, HeadersInNvrtcAreKeptInTheCache) {
  FLOTILLA_NEED_BUNDLED_HEADERS();
  options_.cache = true;
  options_.cache_directory = folder() / "cache";
  static_cast<void>(ptx(saxpy));
  EXPECT_EQ(files_in(folder() / "cache", "headers-"), 0u) << "the source includes nothing";
  EXPECT_TRUE(has(ptx(with_headers), ".entry h("));
  EXPECT_EQ(files_in(folder() / "cache", "headers-"), 1u);
  EXPECT_TRUE(has(ptx(std::string{with_headers} + "\n"), ".entry h("));
  EXPECT_EQ(files_in(folder() / "cache", "headers-"), 1u);
}

// requirement
TEST_F(GpuCompiler, HeadersInNvrtcNeedNoCache) {
  FLOTILLA_NEED_BUNDLED_HEADERS();
  ASSERT_EQ(::setenv("TMPDIR", folder().c_str(), 1), 0);
  EXPECT_TRUE(has(ptx(with_headers), ".entry h("));
  ASSERT_EQ(::unsetenv("TMPDIR"), 0);
  EXPECT_EQ(files_in(folder(), "flotilla-"), 0u) << "the temporary folder remains";
}

// error guess: headers that cannot be written are a warning, and the source says what it misses
TEST_F(GpuCompiler, HeadersThatCannotBeWrittenAreAWarning) {
  FLOTILLA_NEED_BUNDLED_HEADERS();
  bundled_headers const headers{open_nvrtc(checked_options(options_)), "/proc/none"};
  EXPECT_TRUE(headers.folders().empty());
  EXPECT_TRUE(has_logged("warning: kernels are compiled without the headers of CUDA that "));
}

// requirement: the compiler's log, the source's name and the line
TEST_F(GpuCompiler, ErrorsNameTheSourceAndTheLine) {
  options_.name = "mine.cu";
  try {
    static_cast<void>(compile("\n\nextern \"C\" __global__ void f() { return missing; }"));
    FAIL() << "compiled";
  } catch (compile_error const& why) {
    EXPECT_EQ(why.source(), "mine.cu");
    EXPECT_EQ(why.line(), 3u);
    EXPECT_TRUE(has(why.log(), "missing")) << why.log();
    EXPECT_TRUE(std::string{why.what()}.starts_with("mine.cu:3: ")) << why.what();
  }
  EXPECT_THROW(static_cast<void>(compile("__device__ void f() {}")), compile_error);
  options_.name_expressions = {"nothing<int>"};
  EXPECT_THROW(static_cast<void>(compile(saxpy)), compile_error);
}

// requirement
TEST_F(GpuCompiler, OptionsReachTheCompiler) {
  options_.fast_math = true;
  EXPECT_TRUE(
      has(ptx("extern \"C\" __global__ void f(float* x) { *x = sinf(*x); }"), "sin.approx"));
  options_.gpu_options = {"--no-such-option"};
  EXPECT_THROW(static_cast<void>(compile(saxpy)), compile_error);
}

// requirement
TEST_F(GpuCompiler, TheTimeoutEndsTheCompilation) {
  if (open_nvrtc(checked_options(options_)).set_callback == nullptr) {
    GTEST_SKIP() << "needs an NVRTC with nvrtcSetFlowCallback";
  }
  options_.timeout = std::chrono::milliseconds{1};
  std::string source =
      "template <int n> __device__ float f(float x) { return "
      "sinf(f<n - 1>(x)) + f<n - 1>(x * n); }\n"
      "template <> __device__ float f<0>(float x) { return x; }\n";
  for (int i = 0; i < 100; ++i) {
    source +=
        "extern \"C\" __global__ void k" + std::to_string(i) + "(float* x) { *x = f<6>(*x); }\n";
  }
  EXPECT_THROW(static_cast<void>(compile(source)), timed_out);
}

// requirement: NVRTC that does not exist, or is something else, is an error with a remedy
TEST_F(GpuCompiler, WithoutNvrtcTheErrorSaysWhatToInstall) {
  options_.nvrtc = "/no/such/libnvrtc.so";
  try {
    static_cast<void>(compile(saxpy));
    FAIL() << "compiled";
  } catch (no_compiler const& why) {
    std::string const text = why.what();
    EXPECT_TRUE(text.starts_with("compile_options::nvrtc: ")) << text;
    EXPECT_TRUE(has(text, "/no/such/libnvrtc.so")) << text;
    EXPECT_TRUE(has(text, "Install it")) << text;
  }
}

// boundary: a GPU that is older than what NVRTC knows
TEST_F(GpuCompiler, AnArchitectureThatNvrtcDoesNotKnowIsRefused) {
  EXPECT_THROW(static_cast<void>(compile(saxpy, {20, true})), no_compiler);
  EXPECT_TRUE(has(compile(saxpy, {93, false}).bytes, ".target sm_90"));
}

// requirement: an entry of the cache depends on everything that the result depends on
TEST_F(GpuCompiler, TheCacheKeepsResultsApart) {
  options_.cache = true;
  options_.cache_directory = folder() / "cache";
  auto const entries = [&] {
    return std::distance(std::filesystem::directory_iterator{folder() / "cache"},
                         std::filesystem::directory_iterator{});
  };
  compiled_code const first = compile(saxpy);
  EXPECT_EQ(compile(saxpy), first);
  EXPECT_EQ(entries(), 1);
  EXPECT_TRUE(has_logged("taken from the cache"));
  static_cast<void>(compile(saxpy, {80, false}));
  EXPECT_EQ(entries(), 2);
  options_.fused = false;
  static_cast<void>(compile(saxpy));
  EXPECT_EQ(entries(), 3);
  options_.name_expressions = {"saxpy"};
  static_cast<void>(compile(saxpy));
  EXPECT_EQ(entries(), 4);
}

}  // namespace
}  // namespace flotilla::compiler
