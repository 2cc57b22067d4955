// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A function that is not a callable, because it takes no task_context.
// expect: not work: see `what`

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt) {
#ifdef MISTAKE
  (void)rt.submit([] {}, {.label = "x"});
#else
  (void)rt.submit([](flotilla::task_context&) {});
#endif
}
