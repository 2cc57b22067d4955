// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A launch whose arguments name logical data.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/kernel/launch.hpp>

namespace flotilla {
inline namespace v0_1 {

class untyped_data_launch;

namespace detail {

/// Where the flow writes the address of data, and the pitches of a view, in the arguments. No
/// member has a default value, so that an array costs nothing.
struct use_argument {
  std::uint16_t offset;
  std::uint8_t view_rank;  // 0: a pointer
  std::uint32_t object_bytes;
};

}  // namespace detail

/// A kernel launch with at least one argument that is a use of data: `read(a)`, `write(b)`,
/// `update(c)` or `reduce(d)`. A kernel makes it, and a flow submits it. It can be submitted any
/// number of times.
///
/// Threads: same rules as for an `int`. Lifetime: the data must exist when it is submitted.
class data_launch {
 public:
  data_launch(data_launch const& other) : plain_{other.plain_}, count_{other.count_} {
    copy_uses(other);
  }
  data_launch(data_launch&& other) noexcept
      : plain_{std::move(other.plain_)}, count_{other.count_} {
    copy_uses(other);
  }
  data_launch& operator=(data_launch const& other) {
    plain_ = other.plain_;
    count_ = other.count_;
    copy_uses(other);
    return *this;
  }
  data_launch& operator=(data_launch&& other) noexcept {
    plain_ = std::move(other.plain_);
    count_ = other.count_;
    copy_uses(other);
    return *this;
  }
  ~data_launch() = default;

 private:
  friend struct detail::launch_builder;
  friend struct detail::flow_access;
  friend class untyped_data_launch;
  explicit data_launch(launch&& plain) noexcept : plain_{std::move(plain)} {}

  void copy_uses(data_launch const& other) noexcept {
    std::copy_n(other.uses_.begin(), count_, uses_.begin());
    std::copy_n(other.arguments_.begin(), count_, arguments_.begin());
  }
  void add(detail::datum_use const& use, detail::use_argument const& argument) noexcept {
    uses_[count_] = use;
    arguments_[count_] = argument;
    ++count_;
  }

  launch plain_;
  std::size_t count_ = 0;
  // Only the first `count_` elements have values.
  std::array<detail::datum_use, detail::max_uses> uses_;
  std::array<detail::use_argument, detail::max_uses> arguments_;
};

}  // namespace v0_1
}  // namespace flotilla
