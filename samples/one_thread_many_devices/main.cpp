// One thread drives all devices: no workers, no other thread that launches. The thread gives every
// device its share, then goes from device to device: makes its context current, launches what
// waits, takes the context away again, until everything has ended.
#include <cstdio>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "one_thread_many_devices_kernels.hpp"

namespace {

constexpr unsigned chunk = 4096;  // numbers a task
constexpr unsigned chunks = 64;   // tasks a device

unsigned steps_of(unsigned long long value) {
  unsigned taken = 0;
  for (; value > 1; ++taken) { value = value % 2 == 0 ? value / 2 : 3 * value + 1; }
  return taken;
}

// What one device works on: a range of numbers of its own.
struct share {
  share(flotilla::runtime& rt, flotilla::device const& on)
      : device{on},
        first{1 + on.ordinal.value * chunks * chunk},
        steps{rt, on, chunks * chunk},
        result{rt, chunks * chunk} {}

  // Submits and returns: without workers nothing runs before somebody pumps or waits.
  void submit(flotilla::runtime& rt,
              flotilla::kernel<unsigned, unsigned, unsigned*> const& collatz_steps) {
    std::vector<flotilla::ticket> counted;
    for (unsigned i = 0; i < chunks; ++i) {
      auto* const here = reinterpret_cast<unsigned*>(steps.address()) + i * chunk;
      counted.push_back(rt.submit(collatz_steps.over(chunk)(first + i * chunk, chunk, here),
                                  {.device = device, .label = "count"}));
    }
    back = rt.submit(steps.copy_to(result), {.label = "back", .after = counted});
  }

  [[nodiscard]] unsigned wrong() const {
    unsigned differ = 0;
    for (unsigned i = 0; i < chunks * chunk; ++i) { differ += result[i] != steps_of(first + i); }
    return differ;
  }

  flotilla::device const& device;
  unsigned first;
  flotilla::device_buffer<unsigned> steps;
  flotilla::host_buffer<unsigned> result;
  flotilla::ticket back;
};

}  // namespace

int main() {
  flotilla::runtime rt{{.workers = 0}};
  auto const collatz_steps = rt.load(one_thread_many_devices_kernels)
                                 .kernel<unsigned, unsigned, unsigned*>("collatz_steps");

  std::vector<share> shares;
  shares.reserve(rt.devices().size());
  for (flotilla::device const& device : rt.devices()) { shares.emplace_back(rt, device); }
  for (share& each : shares) { each.submit(rt, collatz_steps); }

  // A pass never waits. What this thread does between two of them is its own affair.
  unsigned passes = 1;
  while (rt.pump()) {
    ++passes;
    std::this_thread::yield();
  }

  unsigned wrong = 0;
  for (share const& each : shares) {
    each.back.wait();  // has ended: this only throws if it ended badly
    wrong += each.wrong();
    flotilla::device_counters const did = rt.counters(each.device);
    std::printf("device %u, %s: %llu tasks, context pushed %llu times\n", each.device.ordinal.value,
                each.device.name.c_str(), static_cast<unsigned long long>(did.tasks),
                static_cast<unsigned long long>(did.pushes));
  }
  std::printf("%zu devices, one thread, %u passes: %u of %zu numbers wrong\n", shares.size(),
              passes, wrong, shares.size() * chunks * chunk);
  return wrong == 0 ? 0 : 1;
}
