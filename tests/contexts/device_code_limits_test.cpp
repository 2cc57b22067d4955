// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The effect of context limits on device code: malloc, printf and recursion.
#include "contexts_test.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "support/child.hpp"

namespace flotilla::test {
namespace {

class DeviceCodeLimits : public contexts_test {
 protected:
  static bool heap_has(CUfunction try_heap, unsigned long long bytes) {
    std::uint32_t* const got = pinned(1);
    *got = 7;
    EXPECT_OK(launch(try_heap, nullptr, bytes, got));
    EXPECT_OK(cu().ctx_synchronize());
    return *got == 1;
  }
};

// C2.68 C4.58: the device heap of a context has the size that was set for that context
TEST_F(DeviceCodeLimits, TheHeapIsAsLargeAsItWasSet) {
  for (std::size_t const heap : {8u << 20, 64u << 20}) {
    CUcontext const made = create();
    EXPECT_OK(cu().ctx_set_limit(CU_LIMIT_MALLOC_HEAP_SIZE, heap));
    CUfunction const try_heap = function(load(), "try_heap");
    EXPECT_TRUE(heap_has(try_heap, heap / 4));
    EXPECT_EQ(heap_has(try_heap, 32u << 20), heap > (32u << 20)) << heap;
    EXPECT_FALSE(heap_has(try_heap, heap + 1));
    destroy(made);
  }
}

// C2.69: after a kernel that uses the heap has been launched, the heap size cannot be changed, but
// the stack size can
TEST_F(DeviceCodeLimits, TheHeapIsSettledOnceAKernelUsedIt) {
  CUcontext const made = create();
  CUfunction const try_heap = function(load(), "try_heap");
  EXPECT_OK(cu().ctx_set_limit(CU_LIMIT_MALLOC_HEAP_SIZE, 16u << 20));
  EXPECT_TRUE(heap_has(try_heap, 1024));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu().ctx_set_limit(CU_LIMIT_MALLOC_HEAP_SIZE, 32u << 20));
  std::size_t now = 0;
  EXPECT_OK(cu().ctx_get_limit(&now, CU_LIMIT_MALLOC_HEAP_SIZE));
  EXPECT_EQ(now, 16u << 20);
  EXPECT_OK(cu().ctx_set_limit(CU_LIMIT_STACK_SIZE, 2048));
  destroy(made);
}

/// Launches a kernel that prints `lines` lines, each with the number `tag`.
/// @return how many of these lines arrive on the standard output.
unsigned lines_printed(CUfunction print_lines, unsigned tag, unsigned lines) {
  char path[] = "/tmp/flotilla-printf-XXXXXX";
  int const file = mkstemp(path);
  EXPECT_GE(file, 0);
  std::fflush(stdout);
  int const standard = dup(STDOUT_FILENO);
  EXPECT_GE(dup2(file, STDOUT_FILENO), 0);
  void* arguments[] = {&tag, &lines};
  EXPECT_OK(driver_in_use().launch_kernel(print_lines, 64, 1, 1, 64, 1, 1, 0, nullptr, arguments,
                                          nullptr));
  EXPECT_OK(driver_in_use().ctx_synchronize());
  std::fflush(stdout);
  EXPECT_GE(dup2(standard, STDOUT_FILENO), 0);
  close(standard);
  close(file);
  std::ifstream read{path};
  std::string const wanted = "line of " + std::to_string(tag) + ": ";
  unsigned found = 0;
  for (std::string line; std::getline(read, line);) { found += line.starts_with(wanted) ? 1u : 0u; }
  std::remove(path);
  return found;
}

// C4.58: printf output that does not fit into the buffer is lost. Output that fits appears when the
// context is synchronized
TEST_F(DeviceCodeLimits, PrintedLinesAreLostWhereTheBufferIsSmall) {
  constexpr unsigned lines = 30'000;  // more than 2 MiB, as text and in the driver's buffer
  for (std::size_t const buffer : {std::size_t{512} << 10, std::size_t{32} << 20}) {
    CUcontext const made = create();
    EXPECT_OK(cu().ctx_set_limit(CU_LIMIT_PRINTF_FIFO_SIZE, buffer));
    unsigned const seen = lines_printed(function(load(), "print_lines"), 5, lines);
    if (buffer > (1u << 20)) {
      EXPECT_EQ(seen, lines);
    } else {
      EXPECT_GT(seen, 0u);
      EXPECT_LT(seen, lines);
    }
    destroy(made);
  }
}

// C2.66: recursion works if the stack limit is large enough
TEST_F(DeviceCodeLimits, DeepRecursionNeedsALargeStack) {
  CUcontext const made = create();
  EXPECT_OK(cu().ctx_set_limit(CU_LIMIT_STACK_SIZE, 128u << 10));
  CUfunction const recurse = function(load(), "recurse");
  std::uint32_t* const out = pinned(1);
  EXPECT_OK(launch(recurse, nullptr, recursion_depth, out));
  EXPECT_OK(cu().ctx_synchronize());
  EXPECT_EQ(*out, recursion_depth * (recursion_depth + 1) / 2 + recursion_depth + 1)
      << "stack frames were overwritten";
  destroy(made);
}

// C2.66: a kernel faults if its recursion needs more stack than the limit allows
TEST_F(DeviceCodeLimits, RecursionBeyondTheStackFaults) {
  if (!on_gpus()) { GTEST_SKIP() << "needs a GPU: the stacks of a CPU device have another size"; }
  FLOTILLA_EXPECT_IN_CHILD([] {
    CUdevice device{};
    ASSERT_OK(cu().device_get(&device, 0));
    CUcontext made = nullptr;
    ASSERT_OK(cu().ctx_create(&made, 0, device));
    EXPECT_OK(cu().ctx_set_limit(CU_LIMIT_STACK_SIZE, 1024));
    CUfunction const recurse = function(load(), "recurse");
    std::uint32_t* const out = pinned(1);
    EXPECT_OK(launch(recurse, nullptr, recursion_depth, out));
    CUresult const answer = cu().ctx_synchronize();
    EXPECT_TRUE(answer == CUDA_ERROR_ILLEGAL_ADDRESS || answer == CUDA_ERROR_LAUNCH_FAILED ||
                answer == CUDA_ERROR_HARDWARE_STACK_ERROR)
        << name_of(answer);
    EXPECT_OK(cu().ctx_pop_current(nullptr));
  });
}

}  // namespace
}  // namespace flotilla::test
