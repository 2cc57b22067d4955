// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The program flotilla-worker: runs one device for a process that uses flotilla with isolated
// devices. The library starts it.
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "isolation/worker/server.hpp"
#include "isolation/worker/signals.hpp"

#ifdef __SANITIZE_THREAD__
/// Reports of races would be false here: ThreadSanitizer does not see that the two processes order
/// their accesses with memory that they share.
extern "C" [[gnu::visibility("default")]] char const* __tsan_default_options() {
  return "report_bugs=0";
}
#endif

int main() {
  flotilla::isolated::ignore_signals();
  try {
    // _exit, because a kernel that hangs must not delay the end.
    ::_exit(flotilla::isolated::server{}.run());
  } catch (std::exception const& why) {
    std::fprintf(stderr, "%s\n", why.what());
    return 2;
  }
}
