// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data that only few tasks need. It is kept outside the slots.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "dispatch/task/task_state.hpp"

namespace flotilla::dispatch {

/// Each slot has one slot_side. The next task of the slot reuses the slot_side and its memory.
struct slot_side {
  std::unique_ptr<std::byte[]> arguments;   // launch::max_bytes, allocated at first use
  std::vector<task_key> more_dependencies;  // predecessors beyond slot::inline_dependencies
  std::array<char, 48> label{};             // zero-terminated; longer labels are truncated

  void set_label(std::string_view text) noexcept {
    std::size_t const bytes = std::min(text.size(), label.size() - 1);
    std::memcpy(label.data(), text.data(), bytes);
    label[bytes] = '\0';
  }
};

}  // namespace flotilla::dispatch
