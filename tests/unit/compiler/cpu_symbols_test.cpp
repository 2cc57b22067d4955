// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu_symbols.hpp"

#include <gtest/gtest.h>

#include "compiler/refused_features.hpp"

namespace flotilla::compiler {
namespace {

std::string kernels_in(std::string const& source) {
  std::string made;
  for (cpu_kernel const& each : find_cpu_symbols(tokens_of(source)).kernels) {
    made += each.qualified + "[" + each.launch_bounds + "]" + (each.is_extern_c ? "C" : "") +
            (each.is_template ? "T" : "") + (each.is_in_unnamed_namespace ? "U" : "") + " ";
  }
  return made;
}

std::string variables_in(std::string const& source) {
  std::string made;
  for (cpu_variable const& each : find_cpu_symbols(tokens_of(source)).variables) {
    made += each.qualified + " ";
  }
  return made;
}

// requirement
TEST(CpuSymbols, Kernels) {
  EXPECT_EQ(kernels_in("extern \"C\" __global__ void a(int x) { if (x) { x = 1; } }"), "::a[]C ");
  EXPECT_EQ(kernels_in("extern \"C\" { __global__ void a() {} namespace n::m { __global__ "
                       "void b() {} } }"),
            "::a[]C ::n::m::b[]C ");
  EXPECT_EQ(kernels_in("extern \"C\" __global__ void __launch_bounds__(128 * (2), 1) a() {}"),
            "::a[128 * ( 2 ) , 1]C ");
  EXPECT_EQ(kernels_in("template <class T, int n = f(3)> __global__ void a(T* x) {}"), "::a[]T ");
  EXPECT_EQ(kernels_in("namespace { __global__ void a() {} } inline namespace v { "
                       "__global__ __attribute__((used)) void b() {} }"),
            "::a[]U ::v::b[] ");
}

// error guess: what looks like a kernel, but is none
TEST(CpuSymbols, OtherThingsAreNoKernels) {
  EXPECT_EQ(kernels_in("extern \"C\" __global__ void a(int);"), "");
  EXPECT_EQ(kernels_in("char const* t = \"__global__ void a() {\";"), "");
  EXPECT_EQ(kernels_in("char const* t = R\"x(\" __global__ void a() { )x\"; char c = '\"';"), "");
  EXPECT_EQ(kernels_in("# 1 \"/usr/include/x.h\" 1 3 4\n__global__ void a() {}\n# 2 \"m.cu\" 2\n"
                       "__global__ void b() {}"),
            "::b[] ");
}

// requirement: a GPU finds the same variables by name
TEST(CpuSymbols, Variables) {
  EXPECT_EQ(variables_in("__device__ int a; __constant__ float b[3] = {1, 2}; int c;"), "::a ::b ");
  EXPECT_EQ(variables_in("__device__ int a = f(1, g), b[2], *c = nullptr;"), "::a ::b ::c ");
  EXPECT_EQ(variables_in("__device__ std::pair<int, float> a; __align__(8) __device__ int b{3};"),
            "::a ::b ");
  EXPECT_EQ(variables_in("__device__ int f(int x); __device__ int g() { return 1; }"), "");
  EXPECT_EQ(variables_in("static __device__ int a; __constant__ const int b = 1; namespace n { "
                         "__device__ int c; }"),
            "");
  EXPECT_EQ(variables_in("__device__ const int* a; extern \"C\" __device__ int b;"), "::a ::b ");
}

// requirement
TEST(CpuSymbols, KernelsWithoutTwins) {
  cpu_symbols const found = find_cpu_symbols(tokens_of("# 7 \"m.cu\"\nFLOTILLA_NO_TWIN(a);"));
  ASSERT_EQ(found.without_twin.size(), 1u);
  EXPECT_EQ(found.without_twin[0].name, "a");
  EXPECT_EQ(found.without_twin[0].where.line, 7u);
  ASSERT_EQ(found.variables.size(), 1u);
  EXPECT_EQ(found.variables[0].name, "flotilla_no_twin_a");
}

// requirement: the error names the feature, the file and the line
TEST(RefusedFeatures, NameThePlace) {
  EXPECT_EQ(find_refused_features(tokens_of("# 4 \"m.cu\"\n\nvoid f() { asm(\"x\"); }")),
            "m.cu:5: error: inline assembly (asm): not available on CPU devices\n");
  for (std::string const bad :
       {"k<<<1, 2>>>()", "__managed__ int a", "texture<int> t", "tex2D<float>(t, x)",
        "cudaMalloc(&p, 4)", "extern __shared__ int a[]", "cooperative_groups::sync()"}) {
    EXPECT_NE(find_refused_features(tokens_of(bad)), "") << bad;
  }
  for (std::string const good :
       {"a << 3", "\"asm\"", "int texture", "int asm_ = 1", "my_tex2D(x)"}) {
    EXPECT_EQ(find_refused_features(tokens_of(good)), "") << good;
  }
}

}  // namespace
}  // namespace flotilla::compiler
