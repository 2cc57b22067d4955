// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// All parts of a runtime's recordings, by index.

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "dispatch/recording/recorded_part.hpp"

namespace flotilla::dispatch {

/// A slot names a part by its index in this table. Threads: any.
class recorded_parts {
 public:
  /// Takes a free index, for which `get` returns null until `set`. @throws std::bad_alloc
  [[nodiscard]] std::uint32_t add();
  void set(std::uint32_t index, std::shared_ptr<recorded_part> part) noexcept;
  /// Returns the part, or null if `take` has removed it.
  [[nodiscard]] std::shared_ptr<recorded_part> get(std::uint32_t index) const;
  /// Frees an index, and returns its part.
  [[nodiscard]] std::shared_ptr<recorded_part> take(std::uint32_t index) noexcept;
  /// Returns the parts of a device with replays that were launched after `when`.
  [[nodiscard]] std::vector<std::shared_ptr<recorded_part>> launched_after(
      std::chrono::steady_clock::time_point when, unsigned device) const;
  /// Calls recorded_part::note_loss for all parts of a device.
  void note_loss_of(unsigned device) noexcept;
  /// Destroys the graphs of all parts of a device. Call it before the device's context is
  /// destroyed.
  void destroy_all_of(unsigned device) noexcept;

 private:
  std::mutex mutable mutex_;
  std::vector<std::shared_ptr<recorded_part>> parts_;
  std::vector<std::uint32_t> free_;  // has room for all indices, because `take` must not allocate
};

}  // namespace flotilla::dispatch
