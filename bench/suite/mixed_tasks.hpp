// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tasks of the row `mixed`: launches of eight kernels in turn, with grids of 1 to 64 blocks.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flotilla::bench {

class mixed_tasks {
 public:
  static constexpr std::size_t kernels = 8;
  static constexpr unsigned max_blocks = 64;
  static constexpr unsigned threads = 32;  // of a block
  /// The names of the kernels in mixed.cu.
  static std::array<char const*, kernels> const names;

  explicit mixed_tasks(std::size_t count);

  [[nodiscard]] std::size_t count() const noexcept { return blocks_.size(); }
  [[nodiscard]] static std::size_t kernel(std::size_t task) noexcept { return task % kernels; }
  [[nodiscard]] unsigned blocks(std::size_t task) const { return blocks_[task]; }
  /// The argument `value` of a task. The argument `out` is the address of word
  /// `task * max_blocks`.
  [[nodiscard]] static unsigned value(std::size_t task) noexcept {
    return static_cast<unsigned>(task) * 2654435761u;
  }
  /// The number of words that all tasks need.
  [[nodiscard]] std::size_t words() const noexcept { return count() * max_blocks; }
  /// Checks what the tasks wrote. @throws std::runtime_error  A word is wrong.
  void check(std::span<unsigned const> words, std::string const& who) const;

 private:
  std::vector<std::uint8_t> blocks_;
};

}  // namespace flotilla::bench
