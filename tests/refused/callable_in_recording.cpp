// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A callable and a host task in a recording.
// expect: a recording contains launches, copies and fills only

#include <flotilla/flotilla.hpp>

void run(flotilla::recording& steps, flotilla::launch const& step) {
#ifdef MISTAKE
  (void)steps.add([](flotilla::task_context&) {});
  (void)steps.add(flotilla::host_task([] {}));
#else
  (void)steps.add(step);
#endif
}
