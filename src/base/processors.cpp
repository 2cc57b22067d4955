// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/processors.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace flotilla::base {

unsigned usable_processors() noexcept {
  static unsigned const found = [] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    // The mask of the main thread, because the calling thread may be a worker that is pinned.
    if (::sched_getaffinity(::getpid(), sizeof mask, &mask) == 0) {
      return std::max(1u, static_cast<unsigned>(CPU_COUNT(&mask)));
    }
    return std::max(1u, std::thread::hardware_concurrency());  // more processors than the mask has
  }();
  return found;
}

}  // namespace flotilla::base
