// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The checks that a runtime makes on every submitted task.

#include <string_view>

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {

/// Checks that find mistakes in the program that uses flotilla. They cost time and memory, so they
/// are meant for tests. docs/checking.md says what each check finds.
struct FLOTILLA_EXPORT checks {
  /// "arguments": whether the device of a launch can access the memory of each pointer argument. If
  /// it cannot, `submit` throws invalid_argument.
  bool arguments = false;
  /// "order": whether two tasks that use the same memory have an order. If they have none, and one
  /// of them writes, the `submit` of the later task throws missing_dependency.
  bool order = false;

  bool operator==(checks const&) const = default;

  /// Reads a list of names, separated by commas: "arguments", "order", or "all". An empty text
  /// means no check.
  /// @throws unknown_setting  A name is unknown. The message has the name.
  [[nodiscard]] static checks parse(std::string_view text);
  /// Reads the environment variable FLOTILLA_CHECK.
  /// @throws unknown_setting  The variable has an unknown name.
  [[nodiscard]] static checks from_environment();
};

}  // namespace v0_1
}  // namespace flotilla
