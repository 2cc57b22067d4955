#pragma once
// The fixture of the statement table (docs/contexts.md). It makes and moves contexts with the
// driver's own entry points, on CPU devices or GPUs, and leaks nothing.

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

// Prints a status by name: "CUDA_ERROR_INVALID_CONTEXT" is clearer than 201.
#define EXPECT_STATUS(status, call) \
  EXPECT_STREQ(flotilla::test::name_of(status), flotilla::test::name_of(call))
#define EXPECT_OK(call) EXPECT_STATUS(CUDA_SUCCESS, call)
#define ASSERT_OK(call) ASSERT_STREQ("CUDA_SUCCESS", flotilla::test::name_of(call))

namespace flotilla::test {

[[nodiscard]] char const* name_of(CUresult status);

/// The kernels of tests/contexts/kernels.cu as the driver in use loads them.
[[nodiscard]] void const* context_kernels_code();

class contexts_test : public guest_test {
 protected:
  void SetUp() override;
  /// Pops contexts that the test left and destroys those that it made, so that a failed test does
  /// not make the next one fail.
  void TearDown() override;

  static driver::table const& cu() { return driver_in_use(); }

  /// Makes a context on top of this thread's stack. It is destroyed at the end of the test, or
  /// earlier by `destroy`.
  CUcontext create(unsigned flags = 0, int device = 0);
  /// Makes a context that is current on no thread.
  CUcontext floating(unsigned flags = 0, int device = 0);
  void destroy(CUcontext made);

  static CUcontext current() { return current_context(); }
  static void push(CUcontext what) { EXPECT_OK(cu().ctx_push_current(what)); }
  static CUcontext pop();

  /// Runs `body` on a thread of its own and waits for it.
  static void elsewhere(std::function<void()> const& body) { std::thread{body}.join(); }

  // In the current context:
  static CUmodule load();
  static CUfunction function(CUmodule from, char const* name);
  static CUdeviceptr allocate(std::size_t bytes);
  static CUstream stream(int priority = 0);
  /// Pinned memory that host and device see, zeroed; freed with the context.
  static std::uint32_t* pinned(std::size_t words);

  template <class... Arguments>
  static CUresult launch(CUfunction what, CUstream where, Arguments... arguments) {
    void* addresses[] = {&arguments..., nullptr};
    return cu().launch_kernel(what, 1, 1, 1, 1, 1, 1, 0, where, addresses, nullptr);
  }

 private:
  std::vector<CUcontext> made_;
};

/// Makes a context current until the end of the block.
class pushed {
 public:
  explicit pushed(CUcontext what) { EXPECT_OK(driver_in_use().ctx_push_current(what)); }
  ~pushed() { EXPECT_OK(driver_in_use().ctx_pop_current(nullptr)); }
  pushed(pushed const&) = delete;
  pushed& operator=(pushed const&) = delete;
};

/// A kernel that runs until it is released, on a stream of the current context.
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
