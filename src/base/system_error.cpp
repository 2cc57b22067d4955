// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/system_error.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace flotilla::base {

namespace {

/// Returns "; ulimit -n is 1024" if the limit is set.
template <class Limit>
std::string text_of(Limit which, char const* name, rlim_t unit) {
  rlimit found{};
  if (::getrlimit(which, &found) != 0 || found.rlim_cur == RLIM_INFINITY) { return {}; }
  return std::string{"; "} + name + " is " + std::to_string(found.rlim_cur / unit);
}

std::string limits_of_memory() {
  return text_of(RLIMIT_AS, "the limit of addresses in KiB, ulimit -v,", 1024) +
         text_of(RLIMIT_DATA, "the limit of data in KiB, ulimit -d,", 1024);
}

}  // namespace

std::string errno_text(int error) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
  char const* const name = ::strerrorname_np(error);
  char const* const text = ::strerrordesc_np(error);
  if (name != nullptr && text != nullptr) { return std::string{name} + " (" + text + ")"; }
#endif
  return std::to_string(error) + " (" + std::strerror(error) + ")";
}

std::string limit_text(int error) {
  switch (error) {
    case EMFILE: return text_of(RLIMIT_NOFILE, "the limit of descriptors, ulimit -n,", 1);
    case ENFILE: return "; the limit of the system is in /proc/sys/fs/file-max";
    case EAGAIN:
      // A thread also needs memory for its stack, and pthread_create returns EAGAIN without it.
      return text_of(RLIMIT_NPROC, "the limit of the user's processes and threads, ulimit -u,", 1) +
             limits_of_memory() + "; a limit of the control group (pids.max) is possible, too";
    case ENOMEM: return limits_of_memory();
    case EFBIG: return text_of(RLIMIT_FSIZE, "the limit of files in KiB, ulimit -f,", 1024);
    case EPERM:
    case ENOSYS: return "; a filter of system calls (seccomp) may refuse the call";
    default: return {};
  }
}

std::string refusal_text(int error) { return errno_text(error) + limit_text(error); }

}  // namespace flotilla::base
