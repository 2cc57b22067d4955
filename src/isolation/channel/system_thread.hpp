// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads that live as long as the process.

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "isolation/channel/system_error.hpp"

namespace flotilla::isolated {

/// Blocks all signals of the calling thread for a block. A thread that it starts inherits that.
class without_signals {
 public:
  without_signals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~without_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  without_signals(without_signals const&) = delete;
  without_signals& operator=(without_signals const&) = delete;

 private:
  sigset_t before_;
};

/// Starts a thread that never ends. The signals of the application are for its own threads.
/// @throws driver_error  The system refuses.
template <class Function>
void start_thread(char const* what, Function function) {
  without_signals const blocked;
  try {
    std::thread{std::move(function)}.detach();
  } catch (std::system_error const& refused) {
    errno = refused.code().value();
    throw_refused("pthread_create", what);
  }
}

}  // namespace flotilla::isolated
