// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "isolation/owner/owner.hpp"

namespace flotilla::test {

/// The process of the worker of device 0, which must have had one.
[[nodiscard]] inline pid_t worker_pid() {
  std::uint32_t unused = 0;
  return isolated::owner::get().device(0)->worker(unused)->pid();
}

}  // namespace flotilla::test
