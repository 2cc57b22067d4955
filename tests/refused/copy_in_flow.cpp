// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A copy that is submitted to a flow.
// expect: or use a runtime

#include <vector>

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt, flotilla::flow& steps, flotilla::device_buffer<int>& memory,
         std::vector<int> const& values) {
#ifdef MISTAKE
  (void)steps.submit(memory.copy_from(values), {.label = "x"});
#else
  (void)steps;
  (void)rt.submit(memory.copy_from(values));
#endif
}
