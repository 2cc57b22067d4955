// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/event_signal.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace flotilla::dispatch {

event_signal::event_signal() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) {
    throw std::system_error(errno, std::generic_category(), "event_fd: eventfd");
  }
}

event_signal::~event_signal() { ::close(descriptor_); }

void event_signal::write() const noexcept {
  // The write cannot fail: the counter of the descriptor is far below its maximum.
  [[maybe_unused]] int const failed = ::eventfd_write(descriptor_, 1);
}

void event_signal::clear() noexcept {
  // Read even if the flag is lowered: a thread that raised the flag earlier may have written late.
  // The read fails if the descriptor is empty.
  std::uint64_t count = 0;
  [[maybe_unused]] int const failed = ::eventfd_read(descriptor_, &count);
  raised_.exchange(false, std::memory_order_seq_cst);
}

}  // namespace flotilla::dispatch
