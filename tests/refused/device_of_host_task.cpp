// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A device for a host task, which runs on no device.
// expect: no matching

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt) {
#ifdef MISTAKE
  (void)rt.submit(flotilla::host_task([] {}), {.device = flotilla::device_ordinal{0}});
#else
  (void)rt.submit(flotilla::host_task([] {}), {.label = "step"});
#endif
}
