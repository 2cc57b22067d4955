// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What flotilla explains on stderr.

#include <string_view>

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {

/// Decisions that flotilla explains on stderr, with one line for each decision.
struct FLOTILLA_EXPORT explanations {
  /// "placement": on which device each task of a flow runs, and why. See docs/data.md.
  bool placement = false;
  /// "repeat": whether flow::repeat replays its iteration, and if not, why. See docs/data.md.
  bool repeat = false;

  bool operator==(explanations const&) const = default;

  /// Reads a list of names, separated by commas: "placement", "repeat", or "all". An empty text
  /// means none.
  /// @throws unknown_setting  A name is unknown. The message has the name.
  [[nodiscard]] static explanations parse(std::string_view text);
  /// Reads the environment variable FLOTILLA_EXPLAIN.
  /// @throws unknown_setting  The variable has an unknown name.
  [[nodiscard]] static explanations from_environment();
};

}  // namespace v0_1
}  // namespace flotilla
