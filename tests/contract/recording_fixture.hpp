// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of tests on recordings.

#include <cstdint>

#include "support/contract_test.hpp"

namespace flotilla::test {

class recording_test : public contract_test {
 protected:
  /// Returns a launch that sets `word = word * factor + summand`. These launches do not commute, so
  /// the result shows their order.
  [[nodiscard]] launch step(host_buffer<std::uint32_t>& word, std::uint32_t factor,
                            std::uint32_t summand) {
    return program().step.with_shape({1}, {1})(word.data(), factor, summand);
  }
  /// Returns a word in pinned memory, which every device can write.
  [[nodiscard]] host_buffer<std::uint32_t> word(std::uint32_t value) {
    host_buffer<std::uint32_t> memory{rt(), 1};
    memory[0] = value;
    return memory;
  }
};

}  // namespace flotilla::test
