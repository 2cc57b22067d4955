// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/system_error.hpp"

#include <cerrno>
#include <cstring>

#include "base/refusal.hpp"

namespace flotilla::base {

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
    case EMFILE: return limits_text(limits_of_descriptors);
    case ENFILE: return "; the limit of the system is in /proc/sys/fs/file-max";
    case EAGAIN:
      return limits_text(limits_of_threads) +
             "; a limit of the control group (pids.max) is possible, too";
    case ENOMEM: return limits_text(limits_of_memory);
    case EFBIG: return limits_text(limits_of_files);
    case EPERM:
    case ENOSYS: return "; a filter of system calls (seccomp) may refuse the call";
    default: return {};
  }
}

std::string refusal_text(int error) { return errno_text(error) + limit_text(error); }

}  // namespace flotilla::base
