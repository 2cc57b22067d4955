// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The options of flow::repeat_while.

#include <cstddef>
#include <cstdint>

namespace flotilla {
inline namespace v0_1 {

/// How a loop of a flow ends.
struct loop_options {
  /// The maximum number of iterations. At least 1.
  std::size_t most = SIZE_MAX;
  /// After how many iterations the condition is evaluated. At least 1. A check waits for the value,
  /// which costs one round trip to the device, so a small number makes short iterations slower.
  /// With the number n, the loop may do up to n - 1 iterations more than necessary.
  std::size_t check_every = 16;
};

}  // namespace v0_1
}  // namespace flotilla
