// The library: a runtime of its own, made when it is opened.
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
      rt.load(smoother_kernels).kernel<float const*, float*, unsigned>("smooth");
  std::atomic<std::size_t> turn{0};
};

namespace {

// Nothing of C++ leaves a C interface.
template <class Body>
bool told(char* why, std::size_t bytes, Body body) {
  try {
    body();
    return true;
  } catch (std::exception const& error) {
    std::snprintf(why, bytes, "%s", error.what());
    return false;
  }
}

void run(smoother& with, float* values, std::size_t count) {
  auto const devices = with.rt.devices();
  flotilla::device_ordinal const where = devices[with.turn++ % devices.size()];
  std::span<float const> const given{values, count};
  flotilla::device_buffer<float> const from{with.rt, where, given}, to{with.rt, where, count};
  auto const n = static_cast<unsigned>(count);
  flotilla::ticket const smoothed = with.rt.submit(with.smooth.over(count)(from, to, n));
  std::vector<float> result(count);
  flotilla::ticket const back = with.rt.submit(to.copy_to(result), {.after = {smoothed}});
  back.wait();
  // A task of the library's that throws, with the library's context current: its ticket brings it
  // here.
  with.rt
      .submit(
          [&](flotilla::task_context&) {
            for (std::size_t i = 0; i < count; ++i) {
              if (std::isfinite(result[i])) { continue; }
              throw std::domain_error{"near value " + std::to_string(i) + " there is no number"};
            }
          },
          {.device = where, .label = "check"})
      .wait();
  std::copy(result.begin(), result.end(), values);  // last: values are smoothed or as they were
}

}  // namespace

smoother* smoother_open(char* why, std::size_t why_bytes) {
  smoother* made = nullptr;
  told(why, why_bytes, [&] { made = new smoother; });
  return made;
}

int smoother_run(smoother* with, float* values, std::size_t count, char* why,
                 std::size_t why_bytes) {
  return told(why, why_bytes, [&] { run(*with, values, count); }) ? 0 : -1;
}

void smoother_close(smoother* of) { delete of; }
