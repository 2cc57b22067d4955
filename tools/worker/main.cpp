// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The program flotilla-worker: runs one device for a process that uses flotilla with isolated
// devices. The library starts it.
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "isolation/worker/server.hpp"

int main() {
  try {
    // _exit, because a kernel that hangs must not delay the end.
    ::_exit(flotilla::isolated::server{}.run());
  } catch (std::exception const& why) {
    std::fprintf(stderr, "%s\n", why.what());
    return 2;
  }
}
