// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <chrono>

namespace flotilla::test {

/// Returns whether the descriptor becomes readable within `time`.
inline bool readable(int descriptor, std::chrono::milliseconds time) {
  pollfd one{descriptor, POLLIN, 0};
  return ::poll(&one, 1, static_cast<int>(time.count())) == 1;
}

}  // namespace flotilla::test
