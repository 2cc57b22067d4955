// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The library. smoother_open makes a runtime, which only the library uses.
#include "smoother.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "smoother_kernels.hpp"

struct smoother {
  flotilla::runtime rt;
  flotilla::kernel<float const*, float*, unsigned> smooth =
      rt.load(smoother_kernels).kernel(smoother_kernels.smooth);
  std::atomic<std::size_t> next_device{0};
};

namespace {

// Runs `body` and catches its exceptions, because exceptions must not leave a C interface. Writes
// the message of an exception to `why`. Returns whether `body` succeeded.
template <class Body>
bool run_catching(char* why, std::size_t why_bytes, Body body) {
  try {
    body();
    return true;
  } catch (std::exception const& error) {
    std::snprintf(why, why_bytes, "%s", error.what());
    return false;
  }
}

void run(smoother& self, float* values, std::size_t count) {
  auto const devices = self.rt.devices();
  flotilla::device_ordinal const device = devices[self.next_device++ % devices.size()];
  std::span<float const> const input{values, count};
  flotilla::device_buffer<float> from{self.rt, device, input}, to{self.rt, device, count};
  auto const n = static_cast<unsigned>(count);
  flotilla::ticket const smoothed = self.rt.submit(self.smooth.over(count)(from, to, n));
  std::vector<float> result(count);
  flotilla::ticket const copied = self.rt.submit(to.copy_to(result), {.after = {smoothed}});
  copied.wait();
  // This callable may throw while the library's context is current. wait() rethrows the exception
  // on this thread.
  flotilla::ticket const checked = self.rt.submit(
      [&](flotilla::task_context&) {
        for (std::size_t i = 0; i < count; ++i) {
          if (std::isfinite(result[i])) { continue; }
          throw std::domain_error{"a value near index " + std::to_string(i) + " is not a number"};
        }
      },
      {.device = device, .label = "check"});
  checked.wait();
  // The last step, so that the values are unchanged after an error.
  std::copy(result.begin(), result.end(), values);
}

}  // namespace

smoother* smoother_open(char* why, std::size_t why_bytes) {
  smoother* self = nullptr;
  run_catching(why, why_bytes, [&] { self = new smoother; });
  return self;
}

int smoother_run(smoother* self, float* values, std::size_t count, char* why,
                 std::size_t why_bytes) {
  return run_catching(why, why_bytes, [&] { run(*self, values, count); }) ? 0 : -1;
}

void smoother_close(smoother* self) { delete self; }
