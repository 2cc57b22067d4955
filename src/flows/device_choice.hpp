// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses a device for a task of a flow that names none.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/task/task_options.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/datum.hpp"
#include "flows/device_queue.hpp"

namespace flotilla::flows {

/// Threads: the caller holds the flow's mutex, except in `ask_placement`.
class device_choice {
 public:
  explicit device_choice(dispatch::runtime_state& runtime)
      : runtime_(runtime), loads_(runtime.infos().size()) {}

  /// Returns the device that the runtime's placement chooses. Empty if it chooses none, or the
  /// runtime has no placement. Runs code of the application, so call it without the mutex.
  [[nodiscard]] std::optional<place> ask_placement(task_options const& options) const {
    auto const chosen = runtime_.tasks.place_freely(options);
    return chosen ? std::optional{place::of(*chosen)} : std::nullopt;
  }
  /// Returns the device to which the fewest bytes must be copied. Among several such devices, the
  /// one whose queue of this flow takes the least time, and then the one that got the fewest tasks.
  [[nodiscard]] device_ordinal choose(std::span<detail::datum_use const> uses);
  /// Counts a task that was submitted.
  /// @param what  The launch; null if the task is a callable.
  void note(place where, task_id const& task, launch const* what) noexcept;

 private:
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
