// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which digests the host computes again.

#include <cstdint>
#include <string>

namespace block_digest {

class verification {
 public:
  /// The host verifies one of so many blocks if only a sample is verified.
  static constexpr std::uint64_t sample_interval = 64;

  /// @param mode  "all", "sample" or "none".
  explicit verification(std::string const& mode)
      : interval_{mode == "all"      ? 1
                  : mode == "sample" ? sample_interval
                                     : 0} {}

  /// @param number  The number of the block in the order of the input.
  [[nodiscard]] bool covers(std::uint64_t number) const noexcept {
    return interval_ != 0 && number % interval_ == 0;
  }
  [[nodiscard]] bool covers_all() const noexcept { return interval_ == 1; }
  [[nodiscard]] bool covers_none() const noexcept { return interval_ == 0; }

 private:
  std::uint64_t interval_;  // 0: none
};

}  // namespace block_digest
