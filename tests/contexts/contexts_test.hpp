// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture for tests of the statements in docs/contexts.md. It calls the driver directly, on CPU
// devices or GPUs. After each test, it destroys the contexts that the test has not destroyed. A
// comment such as "C1.6" above a test names a row of docs/contexts.md.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/guest_test.hpp"

// These macros compare the names of statuses, because a failure message with
// "CUDA_ERROR_INVALID_CONTEXT" is clearer than a message with 201.
#define EXPECT_STATUS(status, call) \
  EXPECT_STREQ(flotilla::test::name_of(status), flotilla::test::name_of(call))
#define EXPECT_OK(call) EXPECT_STATUS(CUDA_SUCCESS, call)
#define ASSERT_OK(call) ASSERT_STREQ("CUDA_SUCCESS", flotilla::test::name_of(call))

namespace flotilla::test {

[[nodiscard]] char const* name_of(CUresult status);

/// The compiled kernels of tests/contexts/kernels.cu for the driver under test. Null if the tests
/// run on GPUs but were built with FLOTILLA_GPU_KERNELS=OFF.
[[nodiscard]] void const* context_kernels_code();

class contexts_test : public guest_test {
 protected:
  void SetUp() override;
  /// Pops every context from the stack and destroys the contexts that the test created. Otherwise a
  /// failed test would make the next test fail.
  void TearDown() override;

  static driver::table const& cu() { return driver_in_use(); }

  /// Creates a context, which becomes current on this thread. TearDown destroys the context if the
  /// test has not called `destroy`.
  CUcontext create(unsigned flags = 0, int device = 0);
  /// Creates a context that is current on no thread.
  CUcontext floating(unsigned flags = 0, int device = 0);
  void destroy(CUcontext made);

  static CUcontext current() { return current_context(); }
  static void push(CUcontext what) { EXPECT_OK(cu().ctx_push_current(what)); }
  static CUcontext pop();

  /// Runs `body` on a new thread and waits for that thread.
  static void elsewhere(std::function<void()> const& body) { std::thread{body}.join(); }

  // The following functions act on the current context.
  static CUmodule load();
  static CUfunction function(CUmodule from, char const* name);
  static CUdeviceptr allocate(std::size_t bytes);
  static CUstream stream(int priority = 0);
  static std::size_t free_bytes() {
    std::size_t left = 0, total = 0;
    EXPECT_OK(cu().mem_get_info(&left, &total));
    return left;
  }
  /// Calls `action` once, and then `rounds` times more. Returns by how many bytes the free memory
  /// of the current device has decreased in these rounds, and prints the number.
  static long long bytes_lost(char const* what, int rounds, std::function<void()> const& action);
  /// Allocates pinned memory, which host and device can access, and fills it with zeros. The driver
  /// frees the memory when the context is destroyed.
  static std::uint32_t* pinned(std::size_t words);

  template <class... Arguments>
  static CUresult launch(CUfunction what, CUstream where, Arguments... arguments) {
    void* addresses[] = {&arguments..., nullptr};
    return cu().launch_kernel(what, 1, 1, 1, 1, 1, 1, 0, where, addresses, nullptr);
  }

 private:
  std::vector<CUcontext> made_;
};

/// The depth with which tests call the kernel `recurse`. Each call needs a little more than 1 KiB
/// of stack.
inline constexpr unsigned recursion_depth = 40;

/// Makes a context current until the end of the block.
class pushed {
 public:
  explicit pushed(CUcontext what) { EXPECT_OK(driver_in_use().ctx_push_current(what)); }
  ~pushed() { EXPECT_OK(driver_in_use().ctx_pop_current(nullptr)); }
  pushed(pushed const&) = delete;
  pushed& operator=(pushed const&) = delete;
};

/// Launches a kernel on a stream of the current context. The kernel runs until `release` or the
/// destructor is called.
class held_stream {
 public:
  held_stream(CUfunction hold_until, CUstream where, std::uint32_t* two_words);
  ~held_stream() { release(); }
  held_stream(held_stream const&) = delete;
  held_stream& operator=(held_stream const&) = delete;
  [[nodiscard]] bool started() const;
  void release();

 private:
  std::uint32_t* words_;
};

}  // namespace flotilla::test
