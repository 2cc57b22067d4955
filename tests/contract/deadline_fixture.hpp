// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of the tests of deadlines.

#include <chrono>

#include "support/launch_gate.hpp"

namespace flotilla::test {

class deadline_test : public contract_test {
 protected:
  using clock = std::chrono::steady_clock;
  static clock::time_point soon() { return clock::now() + std::chrono::milliseconds{20}; }
  static clock::time_point passed() { return clock::now() - std::chrono::milliseconds{1}; }
  /// A launch that adds to a word, so that the test sees whether it ran.
  launch add(device_word& to, std::uint32_t amount = 1) {
    return program().add.with_shape({1}, {1})(to.buffer(), amount);
  }
};

}  // namespace flotilla::test
