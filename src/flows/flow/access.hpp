// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives the library access to private members of flow and data_launch.

#include <cstddef>
#include <memory>
#include <span>

#include <flotilla/data/flow.hpp>
#include <flotilla/kernel/data_launch.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// Each function gives access to one class and does nothing else.
struct flow_access {
  static launch const& plain(data_launch const& launch) noexcept { return launch.plain_; }
  static std::span<datum_use const> uses(data_launch const& launch) noexcept {
    return {launch.uses_.data(), launch.count_};
  }
  /// Returns where the addresses of the data go, in the order of the uses.
  static std::span<use_argument const> arguments(data_launch const& launch) noexcept {
    return {launch.arguments_.data(), launch.count_};
  }
  static std::shared_ptr<flows::flow_state> const& state(flow const& flow) noexcept {
    return flow.state_;
  }
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
