// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/processor_mask.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <bit>

namespace flotilla::base {

std::size_t processor_mask::count() const noexcept {
  std::size_t sum = 0;
  for (unsigned long const each : words_) { sum += static_cast<std::size_t>(std::popcount(each)); }
  return sum;
}

processor_mask processor_mask::both(processor_mask const& other) const noexcept {
  processor_mask made;
  for (std::size_t i = 0; i < words_.size(); ++i) { made.words_[i] = words_[i] & other.words_[i]; }
  return made;
}

std::optional<processor_mask> processor_mask::of_thread(pid_t thread) noexcept {
  processor_mask made;
  // The system call, because glibc's function takes a cpu_set_t.
  if (::syscall(SYS_sched_getaffinity, thread, sizeof made.words_, made.words_.data()) < 0) {
    return std::nullopt;
  }
  return made;
}

bool processor_mask::apply_to_this_thread() const noexcept {
  return ::syscall(SYS_sched_setaffinity, 0, sizeof words_, words_.data()) == 0;
}

}  // namespace flotilla::base
