// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A copy to a temporary vector.
// expect: deleted
// expect: keep the host memory until the task has ended

#include <vector>

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt, flotilla::device_buffer<float>& x) {
#ifdef MISTAKE
  rt.post(x.copy_to(std::vector<float>(32)));
#else
  std::vector<float> values(32);
  rt.submit(x.copy_to(values)).wait();
#endif
}
