// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A turn in which only one replay over several devices may be launched (replay_turns).

#include <atomic>
#include <cstdint>

namespace flotilla::dispatch {

/// Turns are numbered, and end in the order of their numbers. Threads: any.
struct launch_turn {
  std::atomic<std::uint64_t> const* last_over = nullptr;  // null: no turn, which counts as over
  std::uint64_t number = 0;

  [[nodiscard]] bool is_over() const noexcept {
    // acquire: pairs with the release in replay_turns::handled
    return last_over == nullptr || last_over->load(std::memory_order_acquire) >= number;
  }
};

}  // namespace flotilla::dispatch
