// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameters of a kernel, read from a request.

#include <cstdint>
#include <span>
#include <vector>

#include "isolation/channel/message.hpp"
#include "isolation/protocol/kernel_launch.hpp"

namespace flotilla::isolated {

/// Pointers into the request, which must stay unchanged while this object is in use.
class kernel_arguments {
 public:
  explicit kernel_arguments(message_reader& in) {
    auto const count = in.get<std::uint32_t>();
    has_any_ = count != no_arguments;
    if (!has_any_) { return; }
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      auto const bytes = in.get<std::uint32_t>();
      std::span<std::byte const> const found = in.bytes(padded(bytes));
      pointers_.push_back(const_cast<std::byte*>(found.data()));
    }
  }
  /// What the driver expects as `kernelParams`.
  [[nodiscard]] void** pointers() noexcept { return has_any_ ? pointers_.data() : nullptr; }

 private:
  bool has_any_ = false;
  std::vector<void*> pointers_;
};

}  // namespace flotilla::isolated
