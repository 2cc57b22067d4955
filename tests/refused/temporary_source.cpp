// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A copy from a temporary vector, which is gone when the task runs.
// expect: deleted
// expect: keep the host memory until the task has ended

#include <span>
#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt, flotilla::device_buffer<float>& x) {
#ifdef MISTAKE
  rt.post(x.copy_from(std::vector<float>(32)));
#else
  std::vector<float> const values(32);
  rt.submit(x.copy_from(values)).wait();
  rt.post(x.copy_from(std::span<float const>{values}));
  flotilla::host_buffer<float> pinned{rt, 32};
  rt.post(x.copy_from(pinned.span()));
  rt.post(x.copy_from(std::as_const(pinned).subspan(0)));
  rt.post(x.copy_to(pinned.subspan(0)));
  rt.post(x.copy_from(flotilla::host_buffer<float>{rt, 32}));
  rt.post(x.copy_from(flotilla::device_buffer<float>{rt, flotilla::device_ordinal{0}, 32}));
#endif
}
