// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a task that has few options, and of a task of a flow.

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <flotilla/device/device.hpp>
#include <flotilla/task/task_id.hpp>
#include <flotilla/task/task_options.hpp>

namespace flotilla::dispatch {

/// The options of a task for which the program names at most a device. The other members have the
/// default values of task_options. These values are known when `submit` is compiled, so `submit`
/// needs no instructions for options that nobody gave.
struct device_option {
  struct no_tasks {
    [[nodiscard]] static constexpr std::size_t size() noexcept { return 0; }
    [[nodiscard]] static constexpr std::span<task_id const> ids() noexcept { return {}; }
  };
  struct no_stop {
    [[nodiscard]] static constexpr bool stop_possible() noexcept { return false; }
  };
  std::optional<device_ordinal> device{};
  static constexpr std::string_view label{};
  static constexpr no_tasks after{};
  static constexpr no_tasks after_end{};
  static constexpr bool batch = true;
  static constexpr int priority = 0;
  static constexpr no_stop stop{};
  static constexpr bool repeatable = false;
  static constexpr auto deadline = std::chrono::steady_clock::time_point::max();
};

/// The same with predecessors.
struct order_options : device_option {
  struct tasks {
    std::span<task_id const> all;
    [[nodiscard]] std::size_t size() const noexcept { return all.size(); }
    [[nodiscard]] std::span<task_id const> ids() const noexcept { return all; }
  };
  tasks after;
};

/// The options of a task of a flow. The flow retires the kept failure (epoch_reclaimer).
struct flow_task_options : task_options {
  // Constructors, because g++ makes an aggregate by setting all of it to zeros first.
  flow_task_options() noexcept {}
  explicit flow_task_options(task_options const& options) : task_options(options) {}

  static constexpr bool keeps_failure = true;
  mutable task_id opened{};  // receives the id of the task, which may have no ticket
};

/// Returns whether the failure of a task with such options is kept (see generation_word).
template <class Options>
inline constexpr bool keeps_failure = requires {
  Options::keeps_failure;
};

/// Returns whether a task or a replay with such options has a deadline.
[[nodiscard]] constexpr bool has_deadline(auto const& options) noexcept {
  return options.deadline != std::chrono::steady_clock::time_point::max();
}

/// Returns the same options as task_options.
[[nodiscard]] inline task_options const& full(task_options const& options) noexcept {
  return options;
}
[[nodiscard]] inline task_options full(device_option const& options) noexcept {
  return {.device = options.device};
}
[[nodiscard]] inline task_options full(order_options const& options) {
  return {.device = options.device, .after = options.after.ids()};
}

}  // namespace flotilla::dispatch
