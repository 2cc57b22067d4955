// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What happens if tasks fail or are cancelled, and how to wait for them.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <future>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "tutorial_kernels.hpp"

int main() {
  constexpr int n = 100;
  int wrong = 0;
  flotilla::runtime rt;
  flotilla::device const& device = rt.devices()[0];
  flotilla::program const program = rt.load(tutorial_kernels);
  auto const divide = program.kernel(tutorial_kernels.divide);
  auto const increase = program.kernel(tutorial_kernels.increase);
  flotilla::device_buffer<int> in{rt, device, n}, out{rt, device, n};
  rt.submit(in.fill(0)).wait();

  // 1. The kernel reports a failure: it must not divide by 0. `wait` throws the error of the task.
  flotilla::launch const division = divide.over(n)(in, out, n, flotilla::task_status{});
  flotilla::ticket const divided = rt.submit(division, {.label = "divide"});
  try {
    divided.wait();
    ++wrong;
  } catch (flotilla::task_failed const& error) {
    std::printf("failed with code %d\n", error.code());
    wrong += error.code() != 7;
  }

  // 2. A task whose predecessor failed does not run. A task that only must not run too early names
  //    its predecessor in `after_end`, and runs.
  flotilla::ticket const skipped = rt.submit(out.fill(1), {.after = {divided}});
  flotilla::ticket const repaired = rt.submit(in.fill(5), {.after_end = {divided}});
  try {
    skipped.wait();
    ++wrong;
  } catch (flotilla::dependency_failed const&) {
    std::puts("not run, because another task failed");
  }
  repaired.wait();

  // 3. A task that is not launched yet can be cancelled. This one waits for a host task, which
  //    waits for the promise.
  std::promise<void> go;
  flotilla::ticket const held = rt.submit(flotilla::host_task([&] { go.get_future().wait(); }));
  flotilla::ticket const later = rt.submit(increase.over(n)(in, 1, n), {.after = {held}});
  wrong += later.wait_for(std::chrono::milliseconds{5}) ? 1 : 0;  // it has not ended
  wrong += later.cancel() ? 0 : 1;
  go.set_value();
  try {
    later.wait();
    ++wrong;
  } catch (flotilla::task_cancelled const&) { std::puts("cancelled"); }

  // 4. Other ways to learn that tasks have ended: a continuation, which runs on another thread,
  //    and a host task behind several tasks. If it takes an exception_ptr, it gets their error.
  flotilla::ticket const again = rt.submit(division);
  std::atomic<int> without_error{0};
  auto const count = [&](std::exception_ptr error) { without_error += error == nullptr ? 1 : 0; };
  again.then(count);
  rt.submit(flotilla::host_task(count), {.after = {again, held}}).wait();
  rt.wait_idle();  // also for the continuation
  wrong += without_error == 2 ? 0 : 1;

  // 5. The device works as before.
  std::vector<int> result(n);
  rt.submit(out.copy_to(result)).wait();
  for (int const each : result) { wrong += each != 20; }
  std::printf("the results are %d; %d things were wrong\n", result[0], wrong);
  return wrong == 0 ? 0 : 1;
}
