// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How messages name a task of a flow.

#include <string>
#include <string_view>

#include <flotilla/kernel/launch.hpp>

#include "base/access.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla::flows {

/// A task that is being submitted.
struct task_name {
  std::string_view label;
  launch const* what = nullptr;  // null: it is no launch

  /// Returns "task 'label'", "kernel 'name'" if the task has no label, or "a task".
  [[nodiscard]] std::string text() const {
    if (!label.empty()) { return "task '" + std::string{label} + "'"; }
    if (what == nullptr) { return "a task"; }
    auto const& runtime = dispatch::runtime_state::of(*detail::access::impl(*what));
    return runtime.programs.describe_kernel(detail::access::kernel_index(*what));
  }
  /// Returns the text for the beginning of a message. Empty: nothing is known of the task.
  [[nodiscard]] std::string prefix() const {
    return label.empty() && what == nullptr ? std::string{} : text() + ": ";
  }
};

}  // namespace flotilla::flows
