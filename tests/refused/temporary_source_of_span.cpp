// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A copy from a temporary vector to a span.
// expect: deleted
// expect: keep the host memory until the task has ended

#include <span>
#include <vector>

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt, flotilla::device_span<float> x) {
#ifdef MISTAKE
  rt.post(x.copy_from(std::vector<float>(32)));
#else
  std::vector<float> const values(32);
  rt.submit(x.copy_from(values)).wait();
  rt.post(x.copy_from(std::span{values}));
#endif
}
