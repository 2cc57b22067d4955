// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Stress tests, mainly for ThreadSanitizer. In each test, many threads use one driver.
#include "driver_test.hpp"

#include <vector>

namespace flotilla::cpu_driver {
namespace {

using ConcurrencyTest = ContextTest;

template <class Body>
void on_threads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&body, i] { body(i); });
  }
  for (std::thread& each : threads) { each.join(); }
}

TEST_F(ConcurrencyTest, ThreadsShareAContextAndAStream) {
  int* const counter = shared<int>();
  CUfunction const increment = function("increment");
  CUstream const where = stream();
  constexpr int threads = 4;
  constexpr int launches = 500;
  on_threads(threads, [&](int) {
    void* arguments[] = {const_cast<int**>(&counter)};
    for (int i = 0; i < launches; ++i) {
      EXPECT_OK(cu::cuLaunchKernel(increment, 1, 1, 1, 1, 1, 1, 0, where, arguments, nullptr));
    }
  });
  EXPECT_OK(cu::cuStreamSynchronize(where));
  // Kernels of one stream do not overlap, so no increment is lost.
  EXPECT_EQ(*counter, threads * launches);
}

TEST_F(ConcurrencyTest, ThreadsMakeAndDestroyEverything) {
  on_threads(4, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      CUcontext mine = nullptr;
      ASSERT_OK(cu::cuCtxCreate_v2(&mine, 0, thread % 2));
      CUstream where = nullptr;
      CUevent done = nullptr;
      CUmodule module = nullptr;
      CUfunction store = nullptr;
      CUdeviceptr memory = 0;
      EXPECT_OK(cu::cuStreamCreate(&where, CU_STREAM_NON_BLOCKING));
      EXPECT_OK(cu::cuEventCreate(&done, 0));
      EXPECT_OK(cu::cuModuleLoadData(&module, test_cpu_driver_kernels.cpu));
      EXPECT_OK(cu::cuModuleGetFunction(&store, module, "store"));
      EXPECT_OK(cu::cuMemAllocAsync(&memory, 256, where));
      void* arguments[] = {&memory, &i};
      EXPECT_OK(cu::cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, where, arguments, nullptr));
      EXPECT_OK(cu::cuEventRecord(done, where));
      int got = -1;
      EXPECT_OK(cu::cuMemcpyDtoHAsync(&got, memory, sizeof got, where));
      EXPECT_EQ(got, i);
      EXPECT_OK(cu::cuMemFreeAsync(memory, where));
      EXPECT_OK(cu::cuEventDestroy(done));
      EXPECT_OK(cu::cuStreamDestroy(where));
      EXPECT_OK(cu::cuModuleUnload(module));
      EXPECT_OK(cu::cuCtxDestroy(mine));
    }
  });
}

// regression: cuStreamDestroy read a stream after the device thread had destroyed the stream.
// Another thread had meanwhile created a new stream in the same memory.
TEST_F(ConcurrencyTest, ThreadsMakeAndDestroyStreamsOfOneContext) {
  CUcontext const shared_by_all = current();
  on_threads(4, [&](int) {
    ASSERT_OK(cu::cuCtxPushCurrent_v2(shared_by_all));
    for (int i = 0; i < 500; ++i) {
      CUstream made = nullptr;
      ASSERT_OK(cu::cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
      EXPECT_OK(cu::cuStreamQuery(made));
      EXPECT_OK(cu::cuStreamDestroy_v2(made));
    }
    EXPECT_OK(cu::cuCtxPopCurrent_v2(nullptr));
  });
}

// regression: one thread created a stream while another destroyed the context. The stream outlived
// the context, and wrote to memory that had been freed with the context.
TEST_F(ConcurrencyTest, NoStreamOutlivesAContextThatAnotherThreadDestroys) {
  for (int round = 0; round < 200; ++round) {
    CUcontext const ended = floating();
    std::atomic<int> started{0};
    std::thread creator([&] {
      ASSERT_OK(cu::cuCtxPushCurrent_v2(ended));
      CUdeviceptr word = 0;
      EXPECT_OK(cu::cuMemAlloc_v2(&word, 4));
      started = 1;
      CUstream made = nullptr;
      while (cu::cuStreamCreate(&made, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS) {
        // Fails if the other thread has destroyed the context, and with it the stream.
        static_cast<void>(cu::cuStreamWriteValue32(made, word, 1, 0));
      }
      EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED,
                    cu::cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
      EXPECT_OK(cu::cuCtxPopCurrent_v2(nullptr));
    });
    while (started == 0) { std::this_thread::yield(); }
    EXPECT_OK(cu::cuCtxDestroy_v2(ended));
    creator.join();
  }
}

// error guess: another thread destroys objects while a call uses their handles. The call must
// return and must not crash.
TEST_F(ConcurrencyTest, CallsWithDestroyedHandlesReturnOnAllThreads) {
  for (int round = 0; round < 20; ++round) {
    CUstream const where = stream();
    CUevent const done = event();
    CUfunction const nothing = function("nothing");
    std::atomic<bool> destroyed{false};
    std::thread destroyer([&] {
      EXPECT_OK(cu::cuStreamDestroy(where));
      EXPECT_OK(cu::cuEventDestroy(done));
      destroyed = true;
    });
    while (!destroyed) {
      CUresult const launched =
          cu::cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, where, nullptr, nullptr);
      EXPECT_TRUE(launched == CUDA_SUCCESS || launched == CUDA_ERROR_INVALID_HANDLE);
      CUresult const recorded = cu::cuEventRecord(done, where);
      EXPECT_TRUE(recorded == CUDA_SUCCESS || recorded == CUDA_ERROR_INVALID_HANDLE);
    }
    destroyer.join();
    EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, cu::cuStreamQuery(where));
  }
}

TEST_F(ConcurrencyTest, DevicesPassATokenRoundByEvents) {
  control().ensure_devices(3);
  constexpr int devices = 3;
  constexpr int rounds = 50;
  int* const token = shared<int>();
  CUcontext contexts[devices];
  CUstream streams[devices];
  CUevent events[devices];
  CUfunction functions[devices];
  for (int d = 0; d < devices; ++d) {
    CUmodule module = nullptr;
    ASSERT_OK(cu::cuCtxCreate_v2(&contexts[d], 0, d));
    ASSERT_OK(cu::cuStreamCreate(&streams[d], CU_STREAM_NON_BLOCKING));
    ASSERT_OK(cu::cuEventCreate(&events[d], CU_EVENT_DISABLE_TIMING));
    ASSERT_OK(cu::cuModuleLoadData(&module, test_cpu_driver_kernels.cpu));
    ASSERT_OK(cu::cuModuleGetFunction(&functions[d], module, "increment"));
    ASSERT_OK(cu::cuCtxPopCurrent(nullptr));
  }
  void* arguments[] = {const_cast<int**>(&token)};
  for (int step = 0; step < rounds * devices; ++step) {
    int const here = step % devices;
    int const next = (step + 1) % devices;
    EXPECT_OK(cu::cuLaunchKernel(functions[here], 1, 1, 1, 1, 1, 1, 0, streams[here], arguments,
                                 nullptr));
    EXPECT_OK(cu::cuEventRecord(events[here], streams[here]));
    EXPECT_OK(cu::cuStreamWaitEvent(streams[next], events[here], 0));
  }
  for (CUstream const each : streams) { EXPECT_OK(cu::cuStreamSynchronize(each)); }
  EXPECT_EQ(*token, rounds * devices);
  for (CUcontext const each : contexts) { EXPECT_OK(cu::cuCtxDestroy(each)); }
}

TEST_F(ConcurrencyTest, AFaultReleasesEveryThreadThatWaits) {
  auto* const word = shared<std::uint32_t>();
  std::atomic<int> waiting{0};
  std::thread fault([&] {
    while (waiting < 3) { std::this_thread::yield(); }
    EXPECT_OK(cu::cuCtxPushCurrent(context_));
    EXPECT_OK(launch("trap", stream()));
  });
  on_threads(3, [&](int) {
    EXPECT_OK(cu::cuCtxPushCurrent(context_));
    CUstream where = nullptr;
    EXPECT_OK(cu::cuStreamCreate(&where, CU_STREAM_NON_BLOCKING));
    EXPECT_OK(cu::cuStreamWaitValue32(where, address_of(word), 1, CU_STREAM_WAIT_VALUE_EQ));
    ++waiting;
    EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuStreamSynchronize(where));
  });
  fault.join();
}

// requirement: a device thread answers whenever it is asked, also if it is about to sleep. See
// device_thread_model_test.cpp
TEST_F(ConcurrencyTest, ALostDeviceIsReplacedWheneverItIsAsked) {
  CUstream const where = stream();
  control().confine_faults(0, true);
  constexpr int losses = 20'000;
  for (int i = 0; i < losses; ++i) {
    EXPECT_OK(launch("nothing", where));
    control().lose_device(0, CUDA_ERROR_LAUNCH_FAILED);
    control().replace_device(0);
  }
  EXPECT_OK(cu::cuStreamSynchronize(where));
  control().confine_faults(0, false);
}

}  // namespace
}  // namespace flotilla::cpu_driver
