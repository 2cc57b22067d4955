// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The recipes of docs/existing_code.md: flotilla in an application that uses CUDA's runtime
// library. `tests/structure/check recipes` compares the document with this file, so the document
// shows code that compiles and is tested.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime_test.hpp"
#include "support/hold.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

constexpr int n = 1000;

void check(cudaError_t status) { EXPECT_CUDART_OK(status); }

class ExistingCode : public runtime_test {
 protected:
  static runtime_options with_primary() {
    // recipe: the primary context
    runtime_options options;
    options.settings.all.context = context_source::primary();
    // end
    options.devices = device_spec(1);
    return options;
  }
  /// y = 2 x + y with x = 1 and y = 3.
  static void expect_result(std::vector<float> const& y) {
    EXPECT_EQ(std::count(y.begin(), y.end(), 5.0f), n);
  }
  static void fill(float* to, float value) {
    std::vector<float> const values(n, value);
    EXPECT_CUDART_OK(cudaMemcpy(to, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  }
  static float* filled_memory(float value) {
    auto* const made = static_cast<float*>(runtime_memory(n * sizeof(float)));
    fill(made, value);
    return made;
  }
  static std::vector<float> read(float const* from) {
    std::vector<float> values(n);
    EXPECT_CUDART_OK(cudaMemcpy(values.data(), from, n * sizeof(float), cudaMemcpyDeviceToHost));
    return values;
  }
};

// The application without flotilla.
TEST_F(ExistingCode, StageZeroIsTheApplicationAlone) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    float* const x = filled_memory(1);
    float* const y = filled_memory(3);
    cudaStream_t stream = nullptr;
    EXPECT_CUDART_OK(cudaStreamCreate(&stream));
    EXPECT_CUDART_OK(launch_axpy(2, x, y, n, stream));
    EXPECT_CUDART_OK(cudaStreamSynchronize(stream));
    expect_result(read(y));
  });
}

// One kernel of the application becomes a task. Memory, stream and event stay the application's.
TEST_F(ExistingCode, StageOneMovesOneKernel) {
  for (bool const primary : {true, false}) {
    FLOTILLA_EXPECT_IN_CHILD([primary] {
      float* const x = filled_memory(1);
      float* const y = filled_memory(0);
      std::vector<float> const threes(n, 3.0f);
      cudaStream_t stream = nullptr;
      cudaEvent_t event = nullptr;
      EXPECT_CUDART_OK(cudaStreamCreate(&stream));
      EXPECT_CUDART_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
      runtime rt{primary ? with_primary() : runtime_options{.devices = device_spec(1)}};
      device_ordinal const device = rt.devices()[0];

      // recipe: the kernel of a symbol
      cudaKernel_t handle = nullptr;
      check(cudaGetKernel(&handle, axpy_symbol()));
      auto const axpy = flotilla::adopt_kernel<float, float const*, float*, int>(rt, handle);
      // end

      // recipe: memory of cudaMalloc
      auto const from = flotilla::view_device_memory(rt, device, x, n);
      auto const to = flotilla::view_device_memory(rt, device, y, n);
      // end

      EXPECT_CUDART_OK(
          cudaMemcpyAsync(y, threes.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream));
      // recipe: a task after work of a stream
      check(cudaEventRecord(event, stream));
      flotilla::ticket const done =
          rt.submit(axpy.over(n)(2.0f, from, to, n), {.after = {rt.submit(event)}});
      // end

      // recipe: work of a stream after a task
      flotilla::enqueue_wait(done, stream);
      // end
      std::vector<float> result(n);
      EXPECT_CUDART_OK(
          cudaMemcpyAsync(result.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
      EXPECT_CUDART_OK(cudaStreamSynchronize(stream));
      expect_result(result);
      done.wait();
    });
  }
}

// Everything is a task. Only the kernel is still the application's.
TEST_F(ExistingCode, StageTwoMovesEverything) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{with_primary()};
    cudaKernel_t handle = nullptr;
    EXPECT_CUDART_OK(cudaGetKernel(&handle, axpy_symbol()));
    auto const axpy = flotilla::adopt_kernel<float, float const*, float*, int>(rt, handle);
    device_ordinal const device = rt.devices()[0];
    device_buffer<float> x{rt, device, std::vector<float>(n, 1.0f)};
    device_buffer<float> y{rt, device, std::vector<float>(n, 3.0f)};
    std::vector<float> result(n);
    ticket const done = rt.submit(axpy.over(n)(2.0f, x, y, n));
    rt.submit(y.copy_to(result), {.after = {done}}).wait();
    expect_result(result);
  });
}

TEST_F(ExistingCode, PinnedMemoryIsCopiedWithoutStaging) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{with_primary()};
    device_buffer<float> buffer{rt, rt.devices()[0], n};
    float* pinned = nullptr;
    EXPECT_CUDART_OK(cudaMallocHost(reinterpret_cast<void**>(&pinned), n * sizeof(float)));
    // recipe: pinned memory
    auto const host = flotilla::view_pinned_memory(rt, pinned, n);
    // end
    std::fill(host.begin(), host.end(), 5.0f);
    rt.submit(buffer.copy_from(host)).wait();
    std::fill(host.begin(), host.end(), 0.0f);
    rt.submit(buffer.copy_to(host)).wait();
    expect_result({host.begin(), host.end()});
    EXPECT_CUDART_OK(cudaFreeHost(pinned));
  });
}

// Flotilla's streams are non-blocking. So the null stream has no order with tasks, in either
// context.
TEST_F(ExistingCode, TheNullStreamHasNoOrderWithTasks) {
  for (bool const primary : {true, false}) {
    FLOTILLA_EXPECT_IN_CHILD([primary] {
      unsigned* words = nullptr;
      EXPECT_CUDART_OK(cudaMallocHost(reinterpret_cast<void**>(&words), 2 * sizeof(unsigned)));
      words[0] = words[1] = 0;
      runtime rt{primary ? with_primary() : runtime_options{.devices = device_spec(1)}};
      cudaKernel_t handle = nullptr;
      EXPECT_CUDART_OK(cudaGetKernel(&handle, axpy_symbol()));
      auto const axpy = flotilla::adopt_kernel<float, float const*, float*, int>(rt, handle);
      device_buffer<float> y{rt, rt.devices()[0], std::vector<float>(n, 3.0f)};
      EXPECT_CUDART_OK(launch_hold(words, nullptr));  // fills the null stream
      rt.submit(axpy.over(n)(2.0f, y, y, n)).wait();  // ends although the null stream is busy
      std::atomic_ref{words[1]}.store(1);
      EXPECT_CUDART_OK(cudaStreamSynchronize(nullptr));
    });
  }
}

// While the application captures a stream, workers call the driver. A capture in thread-local or
// relaxed mode is not disturbed.
TEST_F(ExistingCode, ACaptureInThreadLocalModeIsNotDisturbed) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    float* const x = filled_memory(1);
    float* const y = filled_memory(3);
    runtime rt{with_primary()};
    cudaKernel_t handle = nullptr;
    EXPECT_CUDART_OK(cudaGetKernel(&handle, axpy_symbol()));
    auto const axpy = flotilla::adopt_kernel<float, float const*, float*, int>(rt, handle);
    device_buffer<float> other{rt, rt.devices()[0], std::vector<float>(n, 3.0f)};
    cudaStream_t stream = nullptr;
    EXPECT_CUDART_OK(cudaStreamCreate(&stream));
    // recipe: a capture beside tasks
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    // end
    std::thread{[&] {
      for (int i = 0; i < 100; ++i) { rt.submit(axpy.over(n)(0.0f, other, other, n)).wait(); }
    }}.join();
    EXPECT_THROW(flotilla::enqueue_wait(rt.submit([](task_context&) {}), stream), invalid_argument);
    EXPECT_CUDART_OK(launch_axpy(2, x, y, n, stream));
    cudaGraph_t graph = nullptr;
    EXPECT_CUDART_OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = nullptr;
    EXPECT_CUDART_OK(cudaGraphInstantiate(&exec, graph, 0));
    EXPECT_CUDART_OK(cudaGraphLaunch(exec, stream));
    EXPECT_CUDART_OK(cudaStreamSynchronize(stream));
    expect_result(read(y));
  });
}

// More waiting streams than there are hardware connections. The tasks are launched after the waits,
// into streams that could share connections with the waiting streams. That must not be a deadlock.
TEST_F(ExistingCode, ManyWaitingStreamsDoNotBlockTheirTasks) {
  for (bool const primary : {true, false}) {
    FLOTILLA_EXPECT_IN_CHILD([primary] {
      constexpr int streams = 64;
      float* const y = filled_memory(3);
      runtime rt{primary ? with_primary() : runtime_options{.devices = device_spec(1)}};
      cudaKernel_t handle = nullptr;
      EXPECT_CUDART_OK(cudaGetKernel(&handle, axpy_symbol()));
      auto const axpy = flotilla::adopt_kernel<float, float const*, float*, int>(rt, handle);
      auto const to = view_device_memory(rt, rt.devices()[0], y, n);
      unsigned* words = nullptr;
      EXPECT_CUDART_OK(cudaMallocHost(reinterpret_cast<void**>(&words), 2 * sizeof(unsigned)));
      words[0] = words[1] = 0;
      cudaStream_t busy = nullptr;
      cudaEvent_t event = nullptr;
      EXPECT_CUDART_OK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
      EXPECT_CUDART_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
      EXPECT_CUDART_OK(launch_hold(words, busy));
      EXPECT_CUDART_OK(cudaEventRecord(event, busy));
      std::jthread const opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
        std::atomic_ref{words[1]}.store(1);
      });
      std::vector<ticket> tasks;
      for (int i = 0; i < streams; ++i) {
        cudaStream_t stream = nullptr;
        EXPECT_CUDART_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        tasks.push_back(rt.submit(axpy.over(n)(0.0f, to, to, n), {.after = {rt.submit(event)}}));
        flotilla::enqueue_wait(tasks.back(), stream);
        EXPECT_CUDART_OK(launch_put_state(i, stream));
      }
      for (ticket const& each : tasks) { each.wait(); }
      EXPECT_CUDART_OK(cudaDeviceSynchronize());
    });
  }
}

}  // namespace
}  // namespace flotilla::test
