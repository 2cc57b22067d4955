// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses a device for a task of a flow that names none.

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/task/task_options.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/datum.hpp"
#include "flows/device_queue.hpp"
#include "flows/placement_text.hpp"

namespace flotilla::flows {

/// Threads: the caller holds the flow's mutex.
class device_choice {
 public:
  explicit device_choice(dispatch::runtime_state& runtime)
      : runtime_(runtime), loads_(runtime.infos().size()) {}

  /// Returns the device to which the fewest bytes must be copied. Among several such devices, the
  /// one whose queue of this flow takes the least time, and then the one that got the fewest tasks.
  /// @param text  Gets the reason.
  [[nodiscard]] device_ordinal choose(std::span<detail::datum_use const> uses,
                                      placement_text& text);
  /// Counts a task that was submitted.
  /// @param what  The launch; null if the task is a callable.
  void note(place where, task_id const& task, launch const* what) noexcept;

 private:
  /// What speaks against a device. The comparison is lexicographic.
  struct cost {
    std::size_t bytes;    // to copy there
    double queue_ns;      // open tasks of the flow
    std::uint64_t tasks;  // that the device got
    auto operator<=>(cost const&) const = default;
  };
  [[nodiscard]] cost cost_on(std::span<detail::datum_use const> uses, device_ordinal on) noexcept;
  [[nodiscard]] std::string reason(std::span<detail::datum_use const> uses);
  [[nodiscard]] static std::size_t bytes_to_copy(std::span<detail::datum_use const> uses,
                                                 place to) noexcept;

  /// Returns for how long a launch occupies a device: the measured time of its kernel, multiplied
  /// by the part of the device that it needs.
  [[nodiscard]] float estimated_ns(launch const& what, device const& on) const noexcept;

  struct load {
    device_queue queue{};
    std::uint64_t submitted = 0;  // tasks
  };
  dispatch::runtime_state& runtime_;
  std::vector<load> loads_;  // by device
};

}  // namespace flotilla::flows
