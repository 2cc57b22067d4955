// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// One thread drives all devices, because the runtime has no workers. The thread submits a share of
// the work to every device and then pumps until all tasks have ended. Each pump visits every
// device, makes its context current, launches waiting tasks, and pops the context.
#include <cstdio>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "one_thread_many_devices_kernels.hpp"

namespace {

constexpr unsigned chunk = 4096;  // numbers per task
constexpr unsigned chunks = 64;   // tasks per device

unsigned steps_of(unsigned long long value) {
  unsigned taken = 0;
  for (; value > 1; ++taken) { value = value % 2 == 0 ? value / 2 : 3 * value + 1; }
  return taken;
}

// The range of numbers that one device works on.
struct share {
  share(flotilla::runtime& rt, flotilla::device const& its_device)
      : device{its_device},
        first{1 + device.ordinal.value * chunks * chunk},
        steps{rt, device, chunks * chunk},
        result{rt, chunks * chunk} {}

  // Only submits. Without workers, no task runs before the thread pumps or waits.
  void submit(flotilla::runtime& rt,
              flotilla::kernel<unsigned, unsigned, unsigned*> const& collatz_steps) {
    std::vector<flotilla::ticket> counted;
    for (unsigned i = 0; i < chunks; ++i) {
      counted.push_back(rt.submit(
          collatz_steps.over(chunk)(first + i * chunk, chunk, steps.subspan(i * chunk, chunk)),
          {.label = "count"}));
    }
    copied = rt.submit(steps.copy_to(result), {.label = "copy", .after = counted});
  }

  [[nodiscard]] unsigned count_wrong() const {
    unsigned wrong = 0;
    for (unsigned i = 0; i < chunks * chunk; ++i) { wrong += result[i] != steps_of(first + i); }
    return wrong;
  }

  flotilla::device const& device;
  unsigned first;
  flotilla::device_buffer<unsigned> steps;
  flotilla::host_buffer<unsigned> result;
  flotilla::ticket copied;
};

}  // namespace

int main() {
  flotilla::runtime rt{{.workers = 0}};
  auto const collatz_steps = rt.load(one_thread_many_devices_kernels)
                                 .kernel(one_thread_many_devices_kernels.collatz_steps);

  std::vector<share> shares;
  shares.reserve(rt.devices().size());
  for (flotilla::device const& device : rt.devices()) { shares.emplace_back(rt, device); }
  for (share& part : shares) { part.submit(rt, collatz_steps); }

  // pump() never blocks. Between two calls, this thread could do other work.
  unsigned passes = 1;
  while (rt.pump()) {
    ++passes;
    std::this_thread::yield();
  }

  unsigned wrong = 0;
  for (share const& part : shares) {
    part.copied.wait();  // the copy has already ended; throws the error if the copy failed
    wrong += part.count_wrong();
    flotilla::device_counters const counters = rt.counters(part.device);
    std::printf("device %u, %s: %llu tasks, context pushed %llu times\n", part.device.ordinal.value,
                part.device.name.c_str(), static_cast<unsigned long long>(counters.tasks),
                static_cast<unsigned long long>(counters.pushes));
  }
  std::printf("%zu devices, one thread, %u passes: %u of %zu numbers wrong\n", shares.size(),
              passes, wrong, shares.size() * chunks * chunk);
  return wrong == 0 ? 0 : 1;
}
