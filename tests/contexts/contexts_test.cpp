// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "contexts_test.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>

#include <test_contexts_kernels.hpp>

#include "cpu_driver/api/control.hpp"
#include "driver/library.hpp"

namespace flotilla::test {

char const* name_of(CUresult status) {
  char const* name = nullptr;
  return driver_in_use().get_error_name(status, &name) == CUDA_SUCCESS ? name : "no status";
}

void const* context_kernels_code() {
  return on_gpus() ? test_contexts_kernels.gpu : test_contexts_kernels.cpu;
}

void contexts_test::SetUp() {
  FLOTILLA_NEED_DEVICES(1);
  if (!on_gpus()) { driver::cpu_control().ensure_devices(2); }
  if (context_kernels_code() == nullptr) {
    GTEST_SKIP() << "needs kernels for GPUs, but FLOTILLA_GPU_KERNELS was OFF in this build";
  }
  guest_test::SetUp();
}

void contexts_test::TearDown() {
  if (devices_there() == 0 || context_kernels_code() == nullptr) { return; }
  EXPECT_EQ(current(), nullptr) << "a context is still current at the end of the test";
  while (cu().ctx_pop_current(nullptr) == CUDA_SUCCESS) {}
  for (CUcontext const each : made_) { EXPECT_OK(cu().ctx_destroy(each)); }
  guest_test::TearDown();
}

CUcontext contexts_test::create(unsigned flags, int device) {
  CUdevice on{};
  EXPECT_OK(cu().device_get(&on, device));
  CUcontext made = nullptr;
  EXPECT_OK(cu().ctx_create(&made, flags, on));
  if (made != nullptr) { made_.push_back(made); }
  return made;
}

CUcontext contexts_test::floating(unsigned flags, int device) {
  CUcontext const made = create(flags, device);
  EXPECT_EQ(pop(), made);
  return made;
}

void contexts_test::destroy(CUcontext made) {
  auto const found = std::find(made_.begin(), made_.end(), made);
  ASSERT_NE(found, made_.end()) << "the test did not create this context";
  made_.erase(found);  // a second destruction in TearDown would corrupt the driver's heap
  EXPECT_OK(cu().ctx_destroy(made));
}

CUcontext contexts_test::pop() {
  CUcontext popped = nullptr;
  EXPECT_OK(cu().ctx_pop_current(&popped));
  return popped;
}

CUmodule contexts_test::load() {
  CUmodule made = nullptr;
  EXPECT_OK(cu().module_load_data(&made, context_kernels_code()));
  return made;
}

CUfunction contexts_test::function(CUmodule from, char const* name) {
  CUfunction found = nullptr;
  EXPECT_OK(cu().module_get_function(&found, from, name)) << name;
  return found;
}

CUdeviceptr contexts_test::allocate(std::size_t bytes) {
  CUdeviceptr made = 0;
  EXPECT_OK(cu().mem_alloc(&made, bytes));
  return made;
}

CUstream contexts_test::stream(int priority) {
  CUstream made = nullptr;
  EXPECT_OK(cu().stream_create_with_priority(&made, CU_STREAM_NON_BLOCKING, priority));
  return made;
}

std::uint32_t* contexts_test::pinned(std::size_t words) {
  void* made = nullptr;
  EXPECT_OK(cu().mem_host_alloc(&made, words * sizeof(std::uint32_t), 0));
  auto* const typed = static_cast<std::uint32_t*>(made);
  if (typed != nullptr) { std::fill_n(typed, words, 0u); }
  return typed;
}

long long contexts_test::bytes_lost(char const* what, int rounds,
                                    std::function<void()> const& action) {
  action();
  auto const before = static_cast<long long>(free_bytes());
  for (int i = 0; i < rounds; ++i) { action(); }
  long long const lost = before - static_cast<long long>(free_bytes());
  std::fprintf(stderr, "measured: %d %s: %lld bytes are gone\n", rounds, what, lost);
  return lost;
}

held_stream::held_stream(CUfunction hold_until, CUstream where, std::uint32_t* two_words)
    : words_{two_words} {
  void* arguments[] = {&words_};
  EXPECT_OK(
      driver_in_use().launch_kernel(hold_until, 1, 1, 1, 1, 1, 1, 0, where, arguments, nullptr));
}

bool held_stream::started() const {
  // acquire: pairs with the kernel's store
  return std::atomic_ref{words_[0]}.load(std::memory_order_acquire) != 0;
}

void held_stream::release() {
  // release: pairs with the kernel's load
  std::atomic_ref{words_[1]}.store(1, std::memory_order_release);
}

}  // namespace flotilla::test
