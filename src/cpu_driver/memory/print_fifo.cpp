// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/memory/print_fifo.hpp"

#include <cstdio>
#include <new>

#include "cpu_driver/properties/limits.hpp"

namespace flotilla::cpu_driver {

void print_fifo::print(char const* text, std::size_t bytes) noexcept {
  limits_.settle_fifo();
  std::size_t const limit = limits_.fifo_bytes();
  std::lock_guard const lock(mutex_);
  if (text_.size() > limit || bytes > limit - text_.size()) { return; }
  try {
    text_.append(text, bytes);
  } catch (std::bad_alloc const&) {
    // The host is out of memory. Discard the text, as if the buffer were full.
  }
}

void print_fifo::flush() noexcept {
  std::string taken;
  {
    std::lock_guard const lock(mutex_);
    if (text_.empty()) { return; }
    taken.swap(text_);
  }
  std::fwrite(taken.data(), 1, taken.size(), stdout);
  std::fflush(stdout);
}

}  // namespace flotilla::cpu_driver
