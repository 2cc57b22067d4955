// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses a device for a task of a flow that names none.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/task/task_options.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/datum.hpp"

namespace flotilla::flows {

/// Threads: the caller holds the flow's mutex, except in `ask_placement`.
class device_choice {
 public:
  explicit device_choice(dispatch::runtime_state& runtime)
      : runtime_(runtime), submitted_(runtime.infos().size()) {}

  /// Returns the device that the runtime's placement chooses. Empty if it chooses none, or the
  /// runtime has no placement. Runs code of the application, so call it without the mutex.
  [[nodiscard]] std::optional<place> ask_placement(task_options const& options) const {
    auto const chosen = runtime_.tasks.place_freely(options);
    return chosen ? std::optional{place::of(*chosen)} : std::nullopt;
  }
  /// Returns the device to which the fewest bytes must be copied, and among several such devices
  /// the one that got the fewest tasks of the flow.
  [[nodiscard]] device_ordinal choose(std::span<detail::datum_use const> uses) const;
  /// Counts a task that was submitted.
  void note(place where) noexcept {
    if (!where.is_host()) { ++submitted_[where.device().value]; }
  }

 private:
  [[nodiscard]] static std::size_t bytes_to_copy(std::span<detail::datum_use const> uses,
                                                 place to) noexcept;

  dispatch::runtime_state& runtime_;
  std::vector<std::uint64_t> submitted_;  // tasks, by device
};

}  // namespace flotilla::flows
