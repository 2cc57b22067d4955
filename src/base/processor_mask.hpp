// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sets of processors, and the affinity of threads.

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <optional>

namespace flotilla::base {

/// A set of processors. Linux supports at most 8192 processors. glibc's cpu_set_t has only 1024.
class processor_mask {
 public:
  static constexpr std::size_t max_processors = 8192;

  /// Adds a processor. Numbers from `max_processors` on are ignored.
  void add(std::size_t processor) noexcept {
    if (processor < max_processors) { words_[processor / bits] |= 1ul << processor % bits; }
  }
  [[nodiscard]] bool contains(std::size_t processor) const noexcept {
    return processor < max_processors && (words_[processor / bits] >> processor % bits & 1ul) != 0;
  }
  [[nodiscard]] std::size_t count() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return count() == 0; }
  /// Returns the processors that are in both sets.
  [[nodiscard]] processor_mask both(processor_mask const& other) const noexcept;
  bool operator==(processor_mask const&) const = default;

  /// Returns the affinity mask of a thread, or nothing if the system refuses.
  /// @param thread  0: the calling thread. The id of the process: its main thread.
  [[nodiscard]] static std::optional<processor_mask> of_thread(pid_t thread) noexcept;
  /// Sets the affinity mask of the calling thread. @return false if the system refuses, for example
  /// because the cpuset of the process has none of these processors any more.
  bool apply_to_this_thread() const noexcept;

 private:
  static constexpr std::size_t bits = 8 * sizeof(unsigned long);
  std::array<unsigned long, max_processors / bits> words_{};
};

}  // namespace flotilla::base
