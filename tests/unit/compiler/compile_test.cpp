// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What kernel/compile.hpp promises, on CPU devices.
#include <gtest/gtest.h>

#include <thread>

#include "support/thrown.hpp"
#include "unit/compiler/compile_fixture.hpp"

namespace flotilla::test {
namespace {

using Compile = compile_fixture;

// requirement
TEST_F(Compile, AKernelRunsOnEveryDevice) {
  program const loaded = compiled(scale_source);
  auto const scale = loaded.kernel<float*, float, int>("scale");
  for (device const& each : rt_->devices()) {
    std::vector<float> values(1000, 3.0f);
    device_buffer<float> x{*rt_, each, values};
    ticket const done = rt_->submit(scale.over(1000)(x, 2.0f, 1000));
    rt_->submit(x.copy_to(values), {.after = {done}}).wait();
    EXPECT_EQ(values, std::vector<float>(1000, 6.0f));
  }
  EXPECT_EQ(loaded.kernel_names(), std::vector<std::string>{"scale"});
}

// requirement: macros, headers, templates, several kernels, variables, barriers
TEST_F(Compile, OptionsAndTheWholeLanguage) {
  write("own/twice.hpp", "__device__ inline float twice(float x) { return FACTOR * x; }");
  options_.include_directories = {folder() / "own"};
  options_.defines = {"FACTOR=2.0f", "UNUSED"};
  options_.name_expressions = {"add<1>", "mine::add<2, true>"};
  program const loaded = compiled(R"(
#include <cmath>
#include "twice.hpp"
__device__ float offset = 5;
extern "C" __global__ void __launch_bounds__(256) doubled(float* x, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] = twice(x[i]) + offset; }
}
template <int k> __global__ void __launch_bounds__(128 * k) add(float* x, int n) {
  __shared__ float first;
  if (threadIdx.x == 0) { first = k; }
  __syncthreads();
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] += first; }
}
namespace mine {
template <int k, bool b> __global__ void add(float* x, int n) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (b && i < n) { x[i] -= std::sqrt(float(k * k)); }
}
}
)");
  EXPECT_EQ(run(loaded, "doubled")[10], 25.0f);
  EXPECT_EQ(run(loaded, "add<1>")[10], 11.0f);
  EXPECT_EQ(run(loaded, "mine::add<2, true>")[10], 8.0f);
  float const changed = -20;
  loaded.write_global(device_ordinal{1}, "offset", std::as_bytes(std::span{&changed, 1}));
  EXPECT_EQ(run(loaded, "doubled")[10], 0.0f);
}

// requirement
TEST_F(Compile, OtherOptionsReachTheCompiler) {
  options_.cpu_options = {"-ffinite-math-only"};
  options_.fast_math = true;
  options_.standard = 17;
  program const loaded = compiled(R"(
extern "C" __global__ void flags(float* x, int n) {
#ifdef __FINITE_MATH_ONLY__
  x[0] = __FINITE_MATH_ONLY__;
#endif
})");
  EXPECT_EQ(run(loaded, "flags")[0], 1.0f);
}

// requirement: the error has the log, the source's name and the line
TEST_F(Compile, ErrorsNameTheSourceAndTheLine) {
  options_.name = "mine.cu";
  try {
    static_cast<void>(compiled("\n\nextern \"C\" __global__ void f() { missing(1); }\n"));
    FAIL() << "compiled";
  } catch (compile_error const& why) {
    EXPECT_EQ(why.source(), "mine.cu");
    EXPECT_EQ(why.line(), 3u);
    EXPECT_THAT(why.log(), HasSubstr("missing"));
    EXPECT_THAT(why.what(), StartsWith("mine.cu:3: "));
    EXPECT_THAT(why.what(), HasSubstr("missing"));
  }
}

// requirement: an error in a header names the header
TEST_F(Compile, ErrorsInHeadersNameTheHeader) {
  write("own/bad.hpp", "\nint f() { return nothing; }");
  options_.include_directories = {folder() / "own"};
  try {
    static_cast<void>(compiled("#include \"bad.hpp\"\n" + std::string{scale_source}));
    FAIL() << "compiled";
  } catch (compile_error const& why) {
    EXPECT_THAT(why.source(), EndsWith("/own/bad.hpp"));
    EXPECT_EQ(why.line(), 2u);
  }
}

// requirement: mistakes that a host compiler would not name, or would not find
TEST_F(Compile, MistakesInKernelsAreNamed) {
  auto const error_of = [&](std::string const& source) {
    return thrown<compile_error>([&] { static_cast<void>(compiled(source)); });
  };
  EXPECT_THAT(error_of(""), HasSubstr("kernels.cu:1: no kernel: write extern \"C\" __global__"));
  EXPECT_THAT(error_of("\nint x;\n"), HasSubstr("no kernel"));
  EXPECT_THAT(error_of("\n__global__ void step(int* x) {}"),
              HasSubstr("kernels.cu:2: kernel step is not extern \"C\""));
  EXPECT_THAT(error_of("#ifdef __CUDACC__\nextern \"C\" __global__ void f() {}\n#endif"),
              HasSubstr("kernels.cu:2: no kernel is left for CPU devices"));
  EXPECT_THAT(error_of("extern \"C\" __global__ void f() {\n  asm(\"x\"); }"),
              HasSubstr("kernels.cu:2: inline assembly (asm): not available on CPU devices"));
  EXPECT_THAT(error_of(std::string{scale_source} + "FLOTILLA_NO_TWIN(scala);"),
              HasSubstr("the source has no kernel scala"));
  // g++ and clang name the file with and without quotes.
  EXPECT_THAT(error_of("#include \"no_such.hpp\"\n"),
              ::testing::ContainsRegex("kernels.cu:1: .?no_such.hpp"));
  options_.name_expressions = {"missing<int>"};
  EXPECT_THAT(error_of(scale_source), HasSubstr("compile_options::name_expressions:"));
}

// requirement: no compiler is a clear error that says what to install
TEST_F(Compile, WithoutACompilerTheErrorSaysWhatToInstall) {
  options_.cpu_compiler = "/no/such/compiler";
  EXPECT_THAT(thrown<no_compiler>([&] { static_cast<void>(compiled(scale_source)); }),
              HasSubstr("compile_options::cpu_compiler: '/no/such/compiler'"));
}

// requirement
TEST_F(Compile, TheTimeoutEndsTheCompiler) {
  write("slow", "#!/bin/sh\nsleep 100\n");
  std::filesystem::permissions(folder() / "slow", std::filesystem::perms{0700});
  options_.cpu_compiler = folder() / "slow";
  options_.timeout = std::chrono::milliseconds{100};
  EXPECT_THAT(thrown<timed_out>([&] { static_cast<void>(compiled(scale_source)); }),
              HasSubstr("kernels.cu: the compiler"));
}

// error guess
TEST_F(Compile, TheTimeoutMayBeVeryLong) {
  options_.timeout = std::chrono::milliseconds::max();
  EXPECT_NO_THROW(static_cast<void>(compiled(scale_source)));
}

// error guess: a program that is no compiler
TEST_F(Compile, ACompilerThatMakesNothingIsAnError) {
  options_.cpu_compiler = "/bin/true";
  EXPECT_THAT(thrown<compile_error>([&] { static_cast<void>(compiled(scale_source)); }),
              HasSubstr("has made no output"));
}

// error guess
TEST_F(Compile, RefusesCallsThatCannotWork) {
  options_.standard = 11;
  EXPECT_THROW(static_cast<void>(compiled(scale_source)), invalid_argument);
  options_.standard = 20;
  rt_->close();
  EXPECT_THROW(static_cast<void>(compiled(scale_source)), runtime_closed);
}

// stress: several threads compile the same source and different ones
TEST_F(Compile, ThreadsCompileAtTheSameTime) {
  std::vector<std::thread> threads;
  std::vector<float> results(6);
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([this, i, &results] {
      program const loaded = compile(*rt_,
                                     "extern \"C\" __global__ void f(float* x, int n) { x[0] = " +
                                         std::to_string(i / 2) + "; }",
                                     options_);
      results[static_cast<std::size_t>(i)] = run(loaded, "f")[0];
    });
  }
  for (std::thread& each : threads) { each.join(); }
  EXPECT_EQ(results, (std::vector<float>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(cache_entries(), 3u);
}

// requirement: no file stays behind
TEST_F(Compile, TemporaryFilesAreRemoved) {
  write("tmp/x", "");
  ASSERT_EQ(::setenv("TMPDIR", (folder() / "tmp").c_str(), 1), 0);
  static_cast<void>(compiled(scale_source));
  EXPECT_THROW(static_cast<void>(compiled("error")), compile_error);
  ::unsetenv("TMPDIR");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder() / "tmp"},
                          std::filesystem::directory_iterator{}),
            1);
}

}  // namespace
}  // namespace flotilla::test
