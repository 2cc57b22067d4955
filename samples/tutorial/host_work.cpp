// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Functions of the program as tasks: callables, which have a device, and host tasks.
#include <atomic>
#include <cstdio>
#include <memory>
#include <numeric>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "tutorial_kernels.hpp"

// Stands for the handle of a library such as cuBLAS: it belongs to a stream, and so to a device.
class library {
 public:
  explicit library(CUstream_st* stream) : stream_{stream} {}
  // A library would enqueue its work into the stream of its handle.
  [[nodiscard]] bool uses(CUstream_st* stream) const { return stream == stream_; }

 private:
  CUstream_st* stream_;
};

int main() {
  constexpr int n = 1000;
  std::atomic<int> good{0}, bad{0};
  std::vector<int> numbers(n, 3), squares(n);
  long sum = 0;

  flotilla::runtime rt;
  flotilla::device const& device = rt.devices()[0];
  auto const square = rt.load(tutorial_kernels).kernel(tutorial_kernels.square);
  flotilla::device_buffer<int> in{rt, device, numbers}, out{rt, device, n};
  flotilla::context_driver const driver = flotilla::context_driver::of(rt);

  // One handle for each device and stream, made when a callable first needs it.
  auto const make = [](flotilla::task_context& task) {
    return std::make_unique<library>(task.stream());
  };
  flotilla::per_device<library> handles{rt, make};

  // A callable. During the call, the context of the device is current, as libraries need it. The
  // task ends when the function has returned and the work in task.stream() is done.
  auto const call_library = [&](flotilla::task_context& task) {
    bool const is_right = driver.current().has_value() && task.device().ordinal == device.ordinal &&
                          handles.at(task).uses(task.stream());
    ++(is_right ? good : bad);
  };
  flotilla::ticket const called = rt.submit(call_library, {.device = device});

  flotilla::ticket const squared = rt.submit(square.over(n)(in, out, n), {.after = {called}});
  flotilla::ticket const copied = rt.submit(out.copy_to(squares), {.after = {squared}});

  // A host task runs after its predecessors have ended, on a thread that drives no device. So it
  // may use their results, may block, and has no context.
  auto const sum_up = [&] {
    ++(driver.current().has_value() ? bad : good);
    sum = std::accumulate(squares.begin(), squares.end(), 0L);
  };
  flotilla::ticket const summed = rt.submit(flotilla::host_task(sum_up), {.after = {copied}});
  summed.wait();

  std::printf("the sum is %ld; %d calls were right, %d wrong\n", sum, good.load(), bad.load());
  return sum == 9L * n && good == 2 && bad == 0 ? 0 : 1;
}
