// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The number in a handle of the C interface.

#include <cstdint>

namespace flotilla::c_api {

/// The kinds of objects.
enum class kinds : std::uint64_t {
  runtime = 1,
  program,
  kernel,
  buffer,
  ticket,
  recording,
  flow,
  data,
  trace,
  cluster
};

/// A handle consists of the kind of the object, the place of the object, and how often the place
/// was used. So a handle of an object that is gone is recognised, and a handle of another kind
/// too, even if it comes from a language without types. Never 0.
struct handle_bits {
  static constexpr unsigned place_bits = 24, use_bits = 36;
  static constexpr std::uint32_t max_places = std::uint32_t{1} << place_bits;

  [[nodiscard]] static constexpr std::uint64_t make(kinds kind, std::uint64_t use,
                                                    std::uint32_t place) noexcept {
    constexpr std::uint64_t use_mask = (std::uint64_t{1} << use_bits) - 1;
    return static_cast<std::uint64_t>(kind) << (place_bits + use_bits) |
           (use & use_mask) << place_bits | place;
  }
  [[nodiscard]] static constexpr std::uint32_t place(std::uint64_t id) noexcept {
    return static_cast<std::uint32_t>(id & (max_places - 1));
  }
  [[nodiscard]] static constexpr kinds kind(std::uint64_t id) noexcept {
    return static_cast<kinds>(id >> (place_bits + use_bits));
  }
};

}  // namespace flotilla::c_api
