// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A number instead of a device in the options of a task.
// expect: write device_ordinal{n}

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt, flotilla::launch const& work, flotilla::device const& one) {
#ifdef MISTAKE
  rt.post(work, {.device = 1});
#else
  rt.post(work, {.device = flotilla::device_ordinal{1}});
  rt.post(work, {.device = one});
  rt.post(work, {.device = rt.submit(work).device()});
  rt.post(work, {.device = std::nullopt});
  rt.post(work, {.device = {}});
#endif
}
