// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The handles that callers of the forwarding driver get. They look like no address, so a handle of
// the base driver is never taken for one of them, and nobody can use one of them as a pointer.
//
// Bits 63 to 48: a mark. 47 to 42: the device. 41 to 38: the kind. 37 to 22: the generation. 21 to
// 0: the index of the object.

#include <cstdint>

#include "isolation/protocol/handles.hpp"
#include "isolation/protocol/operation.hpp"

namespace flotilla::isolated {

struct handle_bits {
  std::uint64_t value = 0;

  static constexpr std::uint64_t mark = 0xf107;

  [[nodiscard]] static constexpr handle_bits make(int device, object_kind kind,
                                                  std::uint32_t generation,
                                                  std::uint32_t index) noexcept {
    return {mark << 48 | static_cast<std::uint64_t>(device) << 42 |
            static_cast<std::uint64_t>(kind) << 38 |
            static_cast<std::uint64_t>(generation & 0xffff) << 22 | index};
  }
  template <class Handle>
  [[nodiscard]] static handle_bits of(Handle handle) noexcept {
    return {reinterpret_cast<std::uintptr_t>(handle)};
  }
  template <class Handle>
  [[nodiscard]] Handle as() const noexcept {
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(value));
  }
  [[nodiscard]] constexpr bool is_ours() const noexcept { return value >> 48 == mark; }
  [[nodiscard]] constexpr int device() const noexcept {
    return static_cast<int>(value >> 42 & 0x3f);
  }
  [[nodiscard]] constexpr object_kind kind() const noexcept {
    return static_cast<object_kind>(value >> 38 & 0xf);
  }
  [[nodiscard]] constexpr std::uint32_t index() const noexcept {
    return static_cast<std::uint32_t>(value & (max_objects - 1));
  }
  [[nodiscard]] constexpr bool is_shared() const noexcept { return index() >= first_shared_object; }
};

}  // namespace flotilla::isolated
