// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/worker/signals.hpp"

#include <csignal>
#include <initializer_list>

namespace flotilla::isolated {

void ignore_signals() noexcept {
  sigset_t kept;
  ::sigemptyset(&kept);
  for (int const each : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT, SIGCHLD}) {
    ::sigaddset(&kept, each);
  }
  // sigaction refuses SIGKILL, SIGSTOP and the signals of the C library, which is right.
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (::sigismember(&kept, number) == 0) { ::sigaction(number, &ignored, nullptr); }
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace flotilla::isolated
