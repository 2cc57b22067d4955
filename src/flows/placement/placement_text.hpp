// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Explains on which device a task runs (FLOTILLA_EXPLAIN=placement).

#include <string>
#include <string_view>

#include "base/log.hpp"
#include "flows/data/datum.hpp"

namespace flotilla::flows {

/// The explanation for one task.
class placement_text {
 public:
  /// @param is_on  Otherwise nothing is printed.
  placement_text(bool is_on, std::string_view label) noexcept : is_on_(is_on), label_(label) {}

  [[nodiscard]] bool is_on() const noexcept { return is_on_; }
  /// Call it only if the explanation is on.
  void add(place chosen, std::string_view why) {
    text_ = (label_.empty() ? std::string{"a task"} : "task '" + std::string{label_} + "'") +
            " runs on device " + std::to_string(chosen.device().value) + ": " + std::string{why};
  }
  /// Adds the explanation to the log.
  void print() const noexcept {
    if (is_on_) { base::explain(text_); }
  }

 private:
  bool const is_on_;
  std::string_view const label_;
  std::string text_;
};

}  // namespace flotilla::flows
