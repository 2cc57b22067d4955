// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A device whose worker ends: its memory and its handles stay.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include <flotilla/error/driver_status.hpp>

#include "driver/check.hpp"
#include "isolation/owner/owner.hpp"
#include "support/eventually.hpp"
#include "unit/isolation/isolated_fixture.hpp"
#include "unit/isolation/worker_pid.hpp"

namespace flotilla::test {
namespace {

using ::testing::HasSubstr;

class RecoveryTest : public isolated_fixture {};

class SpareTest : public isolated_fixture {
  bool wants_spare() const override { return true; }
};

// requirement
TEST_F(RecoveryTest, ALostDeviceAnswersTheSameUntilItIsReplaced) {
  EXPECT_FALSE(recovery().is_lost(0));
  ::kill(worker_pid(), SIGKILL);
  ASSERT_TRUE(eventually([&] { return recovery().is_lost(0); }));
  EXPECT_THAT(recovery().reason(0), HasSubstr("killed by signal 9"));
  CUdeviceptr memory = 0;
  EXPECT_EQ(api().mem_alloc(&memory, 4), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(api().ctx_synchronize(), CUDA_ERROR_LAUNCH_FAILED);
  CUcontext popped = nullptr;
  FLOTILLA_OK(api().ctx_pop_current(&popped));  // the stack works as before
  FLOTILLA_OK(api().ctx_push_current(popped));
  ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
  EXPECT_FALSE(recovery().is_lost(0));
  EXPECT_EQ(recovery().reason(0), "");
  FLOTILLA_OK(api().ctx_synchronize());
}

// requirement
TEST_F(RecoveryTest, EverythingIsThereAfterAKill) {
  CUfunction const add_to = function("add_to");
  CUdeviceptr small = 0, large = 0;
  FLOTILLA_OK(api().mem_alloc(&small, 4));
  FLOTILLA_OK(api().mem_alloc(&large, 3000000));
  FLOTILLA_OK(api().memset_d32(small, 100, 1));
  FLOTILLA_OK(api().memset_d8(large, 9, 3000000));
  void* host = nullptr;
  FLOTILLA_OK(api().mem_host_alloc(&host, 64, CU_MEMHOSTALLOC_PORTABLE));
  *static_cast<std::uint32_t*>(host) = 5;
  FLOTILLA_OK(api().ctx_set_limit(CU_LIMIT_STACK_SIZE, 4096));
  CUstream stream = nullptr;
  FLOTILLA_OK(api().stream_create(&stream, CU_STREAM_NON_BLOCKING));
  CUevent event = nullptr;
  FLOTILLA_OK(api().event_create(&event, 0));
  FLOTILLA_OK(api().event_record(event, stream));

  CUgraph graph = nullptr;
  FLOTILLA_OK(api().graph_create(&graph, 0));
  std::uint32_t amount = 1;
  void* arguments[] = {&small, &amount};
  CUDA_KERNEL_NODE_PARAMS_v2 node{};
  node.func = add_to;
  node.gridDimX = node.gridDimY = node.gridDimZ = 1;
  node.blockDimX = node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = arguments;
  CUgraphNode first = nullptr, second = nullptr;
  FLOTILLA_OK(api().graph_add_kernel_node(&first, graph, nullptr, 0, &node));
  FLOTILLA_OK(api().graph_add_kernel_node(&second, graph, &first, 1, &node));
  CUgraphExec exec = nullptr;
  FLOTILLA_OK(api().graph_instantiate_with_flags(&exec, graph, 0));
  amount = 20;
  FLOTILLA_OK(api().graph_exec_kernel_node_set_params(exec, second, &node));
  FLOTILLA_OK(api().graph_node_set_enabled(exec, first, 0));
  FLOTILLA_OK(api().graph_destroy(graph));

  for (int round = 0; round < 3; ++round) {
    ::kill(worker_pid(), SIGKILL);
    ASSERT_TRUE(eventually([&] { return recovery().is_lost(0); }));
    ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
    EXPECT_EQ(word(small), 100u + 22u * static_cast<unsigned>(round));
    EXPECT_EQ(word(large + 2999996), 0x09090909u);
    EXPECT_EQ(api().event_query(event), CUDA_SUCCESS);
    std::size_t bytes = 0;
    FLOTILLA_OK(api().ctx_get_limit(&bytes, CU_LIMIT_STACK_SIZE));
    EXPECT_EQ(bytes, 4096u);
    FLOTILLA_OK(add(add_to, reinterpret_cast<CUdeviceptr>(host), 1, stream));
    FLOTILLA_OK(add(add_to, small, 2, stream));
    FLOTILLA_OK(api().graph_launch(exec, stream));  // the second node only, with 20
    FLOTILLA_OK(api().stream_synchronize(stream));
    EXPECT_EQ(*static_cast<std::uint32_t*>(host), 6u + static_cast<unsigned>(round));
  }
  FLOTILLA_OK(api().graph_exec_destroy(exec));
  FLOTILLA_OK(api().mem_free_host(host));
}

// requirement: what was destroyed does not come back, and its handles stay invalid
TEST_F(RecoveryTest, DestroyedObjectsStayDestroyed) {
  CUstream stream = nullptr;
  FLOTILLA_OK(api().stream_create(&stream, 0));
  recovery().kill(0);
  EXPECT_TRUE(recovery().is_lost(0));
  EXPECT_THAT(recovery().reason(0), HasSubstr("on request"));
  FLOTILLA_OK(api().stream_destroy(stream));  // while the device is lost
  ASSERT_TRUE(recovery().replace(0));
  EXPECT_EQ(api().stream_query(stream), CUDA_ERROR_INVALID_HANDLE);
}

// stress: kills at any time in a flood; the words that survive are as the launches that ended left
TEST_F(RecoveryTest, KillsInAFloodLoseNoMemory) {
  CUfunction const add_to = function("add_to");
  constexpr std::size_t words = 100;
  std::vector<CUdeviceptr> memory(words);
  for (std::size_t i = 0; i < words; ++i) {
    FLOTILLA_OK(api().mem_alloc(&memory[i], 4));
    FLOTILLA_OK(api().memset_d32(memory[i], static_cast<unsigned>(i), 1));
  }
  CUdeviceptr flooded = 0;
  FLOTILLA_OK(api().mem_alloc(&flooded, 4));
  FLOTILLA_OK(api().memset_d32(flooded, 0, 1));
  CUstream stream = nullptr;
  FLOTILLA_OK(api().stream_create(&stream, CU_STREAM_NON_BLOCKING));
  for (int round = 0; round < 10; ++round) {
    pid_t const victim = worker_pid();
    std::uint32_t const before = word(flooded);  // first: a busy machine delays this thread
    std::thread killer{[&] {
      std::this_thread::sleep_for(std::chrono::milliseconds{5});  // in the middle of the flood
      ::kill(victim, SIGKILL);
    }};
    std::uint32_t launched = 0;
    while (add(add_to, flooded, 1, stream) == CUDA_SUCCESS) { ++launched; }
    killer.join();
    ASSERT_TRUE(recovery().is_lost(0));
    ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
    EXPECT_LE(word(flooded) - before, launched + 1);
    for (std::size_t i = 0; i < words; ++i) { ASSERT_EQ(word(memory[i]), i); }
    FLOTILLA_OK(api().stream_synchronize(stream));
  }
}

// requirement: a kernel fault of the worker is no fault of this process
TEST_F(RecoveryTest, AFaultEndsTheWorkerOnly) {
  FLOTILLA_NEED_CPU_DRIVER();
  CUfunction const nothing = function("nothing");
  isolated::inject_in_workers("fault=0@1:CUDA_ERROR_ILLEGAL_ADDRESS");
  CUresult status = api().launch_kernel(nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  if (status == CUDA_SUCCESS) { status = api().ctx_synchronize(); }
  EXPECT_NE(status, CUDA_SUCCESS);
  EXPECT_TRUE(recovery().is_lost(0));
  EXPECT_EQ(api().ctx_synchronize(), status) << "the status is sticky";
  ASSERT_TRUE(recovery().replace(0));
  FLOTILLA_OK(api().launch_kernel(nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  FLOTILLA_OK(api().ctx_synchronize());
}

// requirement: a kernel writes to a wild address. On a GPU the driver reports a fault. On a CPU
// device the process of the worker gets SIGSEGV.
TEST_F(RecoveryTest, AWildWriteEndsTheWorkerOnly) {
  CUfunction const write = function("write_value");
  CUdeviceptr good = 0;
  FLOTILLA_OK(api().mem_alloc(&good, 4));
  FLOTILLA_OK(api().memset_d32(good, 77, 1));
  for (int round = 0; round < 3; ++round) {
    CUdeviceptr wild = 8;
    std::uint32_t value = 1;
    void* arguments[] = {&wild, &value};
    CUresult status = api().launch_kernel(write, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
    if (status == CUDA_SUCCESS) { status = api().ctx_synchronize(); }
    EXPECT_TRUE(is_sticky(driver::status_of(status))) << status;
    EXPECT_TRUE(recovery().is_lost(0));
    ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
    EXPECT_EQ(word(good), 77u);
  }
}

// measurement: how long a device is away, from the visible fault to the end of the next kernel
TEST_F(SpareTest, TheDeviceIsBackSoon) {
  CUfunction const add_to = function("add_to");
  CUfunction const write = function("write_value");
  CUdeviceptr where = 0;
  FLOTILLA_OK(api().mem_alloc(&where, 4));
  FLOTILLA_OK(api().memset_d32(where, 0, 1));
  isolated::isolated_device& device = *isolated::owner::get().device(0);
  std::vector<double> took;
  for (std::uint32_t round = 0; round < 5; ++round) {
    ASSERT_TRUE(eventually([&] { return device.has_spare(); }));
    CUdeviceptr wild = 8;
    void* arguments[] = {&wild, &round};
    CUresult status = api().launch_kernel(write, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
    while (status == CUDA_SUCCESS) { status = api().ctx_synchronize(); }
    auto const begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
    FLOTILLA_OK(add(add_to, where, 1, nullptr));
    FLOTILLA_OK(api().ctx_synchronize());
    std::chrono::duration<double, std::milli> const time = std::chrono::steady_clock::now() - begin;
    took.push_back(time.count());
    EXPECT_EQ(word(where), round + 1);
  }
  std::sort(took.begin(), took.end());
  std::printf("with a spare the device is back after %.2f ms (median), %.2f ms (longest)\n",
              took[took.size() / 2], took.back());
  EXPECT_LT(took[took.size() / 2], 2000.0);  // even on a machine that is very busy
}

// requirement
TEST_F(SpareTest, ASpareTakesOver) {
  CUdeviceptr where = 0;
  FLOTILLA_OK(api().mem_alloc(&where, 4));
  FLOTILLA_OK(api().memset_d32(where, 7, 1));
  CUfunction const add_to = function("add_to");
  isolated::isolated_device& device = *isolated::owner::get().device(0);
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(eventually([&] { return device.has_spare(); }));
    pid_t const before = worker_pid();
    ::kill(before, SIGKILL);
    ASSERT_TRUE(eventually([&] { return recovery().is_lost(0); }));
    ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
    EXPECT_NE(worker_pid(), before);
    FLOTILLA_OK(add(add_to, where, 1, nullptr));
    EXPECT_EQ(word(where), 8u + static_cast<unsigned>(round));
  }
  FLOTILLA_OK(api().mem_free(where));
}

// requirement: a spare follows objects that end and memory that moves
TEST_F(SpareTest, ASpareIsUpToDate) {
  isolated::isolated_device& device = *isolated::owner::get().device(0);
  CUdeviceptr kept = 0;
  FLOTILLA_OK(api().mem_alloc(&kept, 100000));
  for (int round = 0; round < 20; ++round) {
    CUstream stream = nullptr;
    FLOTILLA_OK(api().stream_create(&stream, 0));
    CUdeviceptr memory = 0;
    FLOTILLA_OK(api().mem_alloc(&memory, 100000));
    FLOTILLA_OK(api().memset_d8(memory, static_cast<unsigned char>(round), 100000));
    device.tend_spare();
    FLOTILLA_OK(api().stream_destroy(stream));
    FLOTILLA_OK(api().mem_free(kept));
    kept = memory;
  }
  recovery().kill(0);
  ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
  EXPECT_EQ(word(kept), 0x13131313u);
}

}  // namespace
}  // namespace flotilla::test
