// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A launch whose arguments name logical data.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/kernel/launch.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {

/// One use of data by a launch: the flow writes the address of the data, and the pitches of a view,
/// to this place in the arguments.
struct bound_use {
  datum_use what{};
  std::uint16_t offset = 0;
  std::uint8_t view_rank = 0;  // 0: a pointer
  std::uint32_t object_bytes = 0;
};

}  // namespace detail

/// A kernel launch with at least one argument that is a use of data: `read(a)`, `write(b)` or
/// `update(c)`. A kernel makes it, and a flow submits it. It can be submitted any number of times.
///
/// Threads: same rules as for an `int`. Lifetime: the data must exist when it is submitted.
class data_launch {
 private:
  friend struct detail::launch_builder;
  friend struct detail::flow_access;
  explicit data_launch(launch&& plain) noexcept : plain_{std::move(plain)} {}

  void add(detail::bound_use const& use) noexcept { uses_[count_++] = use; }

  launch plain_;
  std::array<detail::bound_use, detail::max_uses> uses_{};
  std::size_t count_ = 0;
};

}  // namespace v0_1
}  // namespace flotilla
