// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The forwarding driver, call by call: it must answer as the driver behind it.
#include <gmock/gmock.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "unit/isolation/isolated_fixture.hpp"

namespace flotilla::test {
namespace {

class ForwardingTest : public isolated_fixture {};

// requirement
TEST_F(ForwardingTest, ContextsAreStacked) {
  CUcontext second = nullptr;
  FLOTILLA_OK(api().ctx_create(&second, CU_CTX_SCHED_YIELD, 0));
  CUcontext top = nullptr;
  FLOTILLA_OK(api().ctx_get_current(&top));
  EXPECT_EQ(top, second);
  CUdevice device = -1;
  FLOTILLA_OK(api().ctx_get_device(&device));
  EXPECT_EQ(device, 0);
  unsigned flags = 0;
  FLOTILLA_OK(api().ctx_get_flags(&flags));
  EXPECT_EQ(flags & CU_CTX_SCHED_MASK, unsigned{CU_CTX_SCHED_YIELD});
  FLOTILLA_OK(api().ctx_push_current(context_));
  FLOTILLA_OK(api().ctx_pop_current(&top));
  EXPECT_EQ(top, context_);
  FLOTILLA_OK(api().ctx_set_current(context_));  // replaces the top
  FLOTILLA_OK(api().ctx_destroy(second));
  EXPECT_EQ(api().ctx_push_current(second), CUDA_ERROR_INVALID_CONTEXT);
  FLOTILLA_OK(api().ctx_get_current(&top));
  EXPECT_EQ(top, context_);
  FLOTILLA_OK(api().ctx_set_current(nullptr));
  FLOTILLA_OK(api().ctx_get_current(&top));
  EXPECT_EQ(top, context_);  // the one of SetUp is below
}

// requirement
TEST_F(ForwardingTest, ADestroyedContextThatIsCurrentSaysSo) {
  CUcontext second = nullptr;
  FLOTILLA_OK(api().ctx_create(&second, 0, 0));
  std::thread{[&] { EXPECT_EQ(api().ctx_destroy(second), CUDA_SUCCESS); }}.join();
  CUdeviceptr memory = 0;
  EXPECT_EQ(api().mem_alloc(&memory, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(api().ctx_synchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CUcontext popped = nullptr;
  FLOTILLA_OK(api().ctx_pop_current(&popped));
  EXPECT_EQ(popped, second);
}

// error guess: a thread calls with a context that has the place of a destroyed one
TEST_F(ForwardingTest, ANewContextIsNotTakenForADestroyedOne) {
  for (int round = 0; round < 4; ++round) {
    CUcontext made = nullptr;
    std::thread{[&] {
      EXPECT_EQ(api().ctx_create(&made, 0, 0), CUDA_SUCCESS);
      EXPECT_EQ(
          api().ctx_set_limit(CU_LIMIT_STACK_SIZE, 2048 + 1024 * static_cast<std::size_t>(round)),
          CUDA_SUCCESS);
    }}.join();
    FLOTILLA_OK(api().ctx_push_current(made));
    std::size_t bytes = 0;
    FLOTILLA_OK(api().ctx_get_limit(&bytes, CU_LIMIT_STACK_SIZE));
    EXPECT_EQ(bytes, 2048 + 1024 * static_cast<std::size_t>(round));
    CUcontext popped = nullptr;
    FLOTILLA_OK(api().ctx_pop_current(&popped));
    std::thread{[&] { EXPECT_EQ(api().ctx_destroy(made), CUDA_SUCCESS); }}.join();
  }
}

// requirement
TEST_F(ForwardingTest, LimitsAndPreferencesAreThoseOfTheContext) {
  FLOTILLA_OK(api().ctx_set_limit(CU_LIMIT_STACK_SIZE, 5001));
  std::size_t bytes = 0;
  FLOTILLA_OK(api().ctx_get_limit(&bytes, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(bytes, 5008u);
  FLOTILLA_OK(api().ctx_set_cache_config(CU_FUNC_CACHE_PREFER_L1));
  CUfunc_cache found{};
  FLOTILLA_OK(api().ctx_get_cache_config(&found));
  EXPECT_EQ(found, CU_FUNC_CACHE_PREFER_L1);
}

// requirement
TEST_F(ForwardingTest, CopiesOfAllSizesComeBack) {
  for (std::size_t const bytes : {1ul, 255ul, 4096ul, 65537ul, 1000003ul, 5000000ul}) {
    std::vector<unsigned char> from(bytes), to(bytes);
    std::iota(from.begin(), from.end(), static_cast<unsigned char>(bytes));
    CUdeviceptr memory = 0;
    FLOTILLA_OK(api().mem_alloc(&memory, bytes));
    FLOTILLA_OK(api().memcpy_htod(memory, from.data(), bytes));
    FLOTILLA_OK(api().memcpy_dtoh(to.data(), memory, bytes));
    EXPECT_EQ(from, to) << bytes;
    std::fill(to.begin(), to.end(), 0);
    CUstream stream = nullptr;
    FLOTILLA_OK(api().stream_create(&stream, CU_STREAM_NON_BLOCKING));
    FLOTILLA_OK(api().memset_d8_async(memory, 7, bytes, stream));
    FLOTILLA_OK(api().memcpy_htod_async(memory, from.data(), bytes / 2, stream));
    FLOTILLA_OK(api().memcpy_dtoh_async(to.data(), memory, bytes, stream));
    std::fill(from.begin() + static_cast<std::ptrdiff_t>(bytes / 2), from.end(), 7);
    EXPECT_EQ(from, to) << bytes;
    FLOTILLA_OK(api().stream_destroy(stream));
    FLOTILLA_OK(api().mem_free(memory));
  }
}

// requirement
TEST_F(ForwardingTest, PinnedMemoryIsReadAndWrittenInPlace) {
  CUfunction const add_to = function("add_to");
  void* host = nullptr;
  FLOTILLA_OK(api().mem_host_alloc(&host, 100, CU_MEMHOSTALLOC_PORTABLE));
  CUdeviceptr seen = 0;
  FLOTILLA_OK(api().mem_host_get_device_pointer(&seen, host, 0));
  *static_cast<std::uint32_t*>(host) = 40;
  FLOTILLA_OK(add(add_to, seen, 2, nullptr));
  FLOTILLA_OK(api().ctx_synchronize());
  EXPECT_EQ(*static_cast<std::uint32_t*>(host), 42u);
  FLOTILLA_OK(api().mem_free_host(host));
  EXPECT_EQ(api().mem_free_host(host), CUDA_ERROR_INVALID_VALUE);
}

// requirement: memory of the application cannot be shared, memory of the driver can
TEST_F(ForwardingTest, OnlySharedMemoryCanBeRegistered) {
  std::vector<std::byte> mine(4096);
  EXPECT_EQ(api().mem_host_register(mine.data(), mine.size(), 0), CUDA_ERROR_NOT_SUPPORTED);
  void* const shared = recovery().allocate_shared(4096);
  ASSERT_NE(shared, nullptr);
  FLOTILLA_OK(api().mem_host_register(shared, 4096, CU_MEMHOSTREGISTER_PORTABLE));
  EXPECT_EQ(api().mem_host_register(shared, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  FLOTILLA_OK(api().mem_host_unregister(shared));
  recovery().free_shared(shared);
}

// requirement
TEST_F(ForwardingTest, LaunchesRunInTheOrderOfTheirStream) {
  CUfunction const step = function("multiply_add");
  CUdeviceptr where = 0;
  FLOTILLA_OK(api().mem_alloc(&where, 4));
  std::uint32_t expected = 1;
  FLOTILLA_OK(api().memcpy_htod(where, &expected, 4));
  CUstream stream = nullptr;
  FLOTILLA_OK(api().stream_create_with_priority(&stream, CU_STREAM_NON_BLOCKING, -1));
  for (std::uint32_t i = 0; i < 1000; ++i) {
    std::uint32_t factor = 3, summand = i;
    void* arguments[] = {&where, &factor, &summand};
    FLOTILLA_OK(api().launch_kernel(step, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
    expected = expected * factor + summand;
  }
  FLOTILLA_OK(api().stream_synchronize(stream));
  EXPECT_EQ(word(where), expected);
  FLOTILLA_OK(api().stream_destroy(stream));
  EXPECT_EQ(api().stream_query(stream), CUDA_ERROR_INVALID_HANDLE);
}

// requirement
TEST_F(ForwardingTest, EventsOrderStreams) {
  CUfunction const add_to = function("add_to");
  CUdeviceptr where = 0;
  FLOTILLA_OK(api().mem_alloc(&where, 4));
  FLOTILLA_OK(api().memset_d32(where, 0, 1));
  CUstream first = nullptr, second = nullptr;
  FLOTILLA_OK(api().stream_create(&first, CU_STREAM_NON_BLOCKING));
  FLOTILLA_OK(api().stream_create(&second, CU_STREAM_NON_BLOCKING));
  CUevent done = nullptr;
  FLOTILLA_OK(api().event_create(&done, CU_EVENT_DISABLE_TIMING));
  FLOTILLA_OK(add(add_to, where, 1, first));
  FLOTILLA_OK(api().event_record(done, first));
  FLOTILLA_OK(api().stream_wait_event(second, done, 0));
  FLOTILLA_OK(add(add_to, where, 2, second));
  FLOTILLA_OK(api().stream_synchronize(second));
  EXPECT_EQ(api().event_query(done), CUDA_SUCCESS);
  EXPECT_EQ(word(where), 3u);
  CUcontext of_stream = nullptr;
  FLOTILLA_OK(api().stream_get_ctx(second, &of_stream));
  EXPECT_EQ(of_stream, context_);
}

// requirement: what cuPointerGetAttribute says about memory of this process
TEST_F(ForwardingTest, AddressesAreKnown) {
  CUdeviceptr memory = 0;
  FLOTILLA_OK(api().mem_alloc(&memory, 1000));
  CUmemorytype type{};
  FLOTILLA_OK(api().pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 999));
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(api().pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 1000),
            CUDA_ERROR_INVALID_VALUE);
  CUcontext owner = nullptr;
  FLOTILLA_OK(api().pointer_get_attribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
  EXPECT_EQ(owner, context_);
}

// stress: memory in streams is freed behind their work, and used again
TEST_F(ForwardingTest, StreamOrderedMemoryIsUsedAgain) {
  CUstream stream = nullptr;
  FLOTILLA_OK(api().stream_create(&stream, CU_STREAM_NON_BLOCKING));
  CUfunction const write = function("write_value");
  std::size_t free_before = 0, free_bytes = 0, all_bytes = 0;
  FLOTILLA_OK(api().mem_get_info(&free_before, &all_bytes));
  for (std::uint32_t i = 0; i < 500; ++i) {
    CUdeviceptr memory = 0;
    std::size_t const bytes = i % 2 == 0 ? 64 : 200000;
    FLOTILLA_OK(api().mem_alloc_async(&memory, bytes, stream));
    void* arguments[] = {&memory, &i};
    FLOTILLA_OK(api().launch_kernel(write, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
    std::uint32_t found = 0;
    FLOTILLA_OK(api().memcpy_dtoh_async(&found, memory, 4, stream));
    EXPECT_EQ(found, i);
    FLOTILLA_OK(api().mem_free_async(memory, stream));
    EXPECT_EQ(api().mem_free_async(memory, stream), CUDA_ERROR_INVALID_VALUE);
  }
  FLOTILLA_OK(api().stream_synchronize(stream));
  FLOTILLA_OK(api().mem_get_info(&free_bytes, &all_bytes));
  EXPECT_GT(free_bytes + (std::size_t{64} << 20), free_before);
  FLOTILLA_OK(api().stream_destroy(stream));
}

// regression: the driver of the worker refused once to unmap a block, and each later block of the
// size got the same addresses, which could not be mapped
TEST_F(ForwardingTest, ABlockThatStaysMappedBlocksNothing) {
  FLOTILLA_NEED_CPU_DRIVER();
  constexpr std::size_t bytes = 400000;
  CUdeviceptr first = 0;
  FLOTILLA_OK(api().mem_alloc(&first, bytes));
  isolated::inject_in_workers("fail=cuMemUnmap@1:CUDA_ERROR_OUT_OF_MEMORY");
  FLOTILLA_OK(api().mem_free(first));
  auto const use = [&] {
    CUdeviceptr memory = 0;
    ASSERT_EQ(api().mem_alloc(&memory, bytes), CUDA_SUCCESS);
    EXPECT_EQ(api().memset_d32(memory, 7, bytes / 4), CUDA_SUCCESS);
    EXPECT_EQ(word(memory + bytes - 4), 7u);
    EXPECT_EQ(api().mem_free(memory), CUDA_SUCCESS);
  };
  for (int i = 0; i < 3; ++i) { use(); }
  isolated::inject_in_workers("");
  // The same if a block was mapped, but its access was refused, and then the unmapping.
  isolated::inject_in_workers("fail=cuMemSetAccess@1:CUDA_ERROR_OUT_OF_MEMORY");
  isolated::inject_in_workers("fail=cuMemUnmap@1:CUDA_ERROR_OUT_OF_MEMORY");
  CUdeviceptr refused = 0;
  EXPECT_EQ(api().mem_alloc(&refused, bytes), CUDA_ERROR_OUT_OF_MEMORY);
  for (int i = 0; i < 3; ++i) { use(); }
  isolated::inject_in_workers("");
  // A successor has mapped none of these blocks.
  recovery().kill(0);
  ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
  for (int i = 0; i < 3; ++i) { use(); }
}

// error guess: wrong handles are found in this process, and do not reach the worker
TEST_F(ForwardingTest, WrongHandlesAreRefused) {
  CUstream stream = nullptr;
  FLOTILLA_OK(api().stream_create(&stream, 0));
  CUevent const event = reinterpret_cast<CUevent>(stream);
  EXPECT_EQ(api().event_query(event), CUDA_ERROR_INVALID_HANDLE);
  auto const invented = reinterpret_cast<CUstream>(reinterpret_cast<std::uintptr_t>(stream) + 1);
  EXPECT_EQ(api().stream_query(invented), CUDA_ERROR_INVALID_HANDLE);
  FLOTILLA_OK(api().stream_destroy(stream));
  EXPECT_EQ(api().stream_destroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(api().mem_alloc(nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api().launch_host_func(nullptr, nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
}

// stress: many threads call at once, more than there are channels
TEST_F(ForwardingTest, ManyThreadsCallAtOnce) {
  CUfunction const add_to = function("add_to");
  CUdeviceptr where = 0;
  FLOTILLA_OK(api().mem_alloc(&where, 4));
  FLOTILLA_OK(api().memset_d32(where, 0, 1));
  std::vector<std::thread> threads;
  for (int t = 0; t < 40; ++t) {
    threads.emplace_back([&] {
      EXPECT_EQ(api().ctx_push_current(context_), CUDA_SUCCESS);
      CUstream stream = nullptr;
      EXPECT_EQ(api().stream_create(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      for (int i = 0; i < 50; ++i) { EXPECT_EQ(add(add_to, where, 1, stream), CUDA_SUCCESS); }
      EXPECT_EQ(api().stream_synchronize(stream), CUDA_SUCCESS);
      EXPECT_EQ(api().stream_destroy(stream), CUDA_SUCCESS);
    });
  }
  for (auto& each : threads) { each.join(); }
  EXPECT_EQ(word(where), 2000u);
}

}  // namespace
}  // namespace flotilla::test
