// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a task of a flow cannot be submitted yet.

#include <cstddef>

#include "flows/data/datum.hpp"

namespace flotilla::flows {

/// The flow does what is missing without holding its mutex, and then tries again.
struct obstacle {
  enum class kinds {
    none,
    no_memory,    // a block of `bytes` bytes must be allocated at `where`
    too_large,    // the data of the task, `bytes` bytes, do not fit at `where`
    window_full,  // the window of `where` has no free place
  } kind = kinds::none;
  place where = place::host();
  std::size_t bytes = 0;
  /// The data for which memory is missing. Null: data of other tasks, which must be copied to the
  /// host before their memory on a device can be used. The data must exist as long as the caller's
  /// task needs them, because they are named after the mutex was released.
  detail::datum const* whose = nullptr;
  /// If the data are too large: how many bytes at `where` belong to data that are divided, and that
  /// therefore cannot be evicted.
  std::size_t divided_bytes = 0;

  /// Returns the same obstacle, but it names `of` instead of data that belong to `of`.
  [[nodiscard]] obstacle about(detail::datum const& of) const noexcept {
    obstacle made = *this;
    if (whose != nullptr) { made.whose = &of; }
    return made;
  }

  /// Returns whether there is an obstacle.
  [[nodiscard]] explicit operator bool() const noexcept { return kind != kinds::none; }
};

}  // namespace flotilla::flows
