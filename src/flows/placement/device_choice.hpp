// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses a device for a task of a flow that names none.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/runtime.hpp>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/copies/data_mover.hpp"
#include "flows/data/datum.hpp"
#include "flows/log/submitted_task.hpp"
#include "flows/placement/device_queue.hpp"
#include "flows/placement/link_table.hpp"
#include "flows/placement/placement_text.hpp"

namespace flotilla::flows {

/// Estimates when a task would end on each device. All times are relative: they begin now.
/// Threads: the caller holds the flow's mutex.
class device_choice {
 public:
  device_choice(runtime& owner, dispatch::runtime_state& runtime, data_mover const& mover);

  /// Returns the device where a launch would end first: after its data were computed and copied,
  /// after the open tasks of this flow there that are at least as urgent, and after the measured
  /// time of its kernel. If the ends are about equal, the fewest bytes to copy decide. Nobody
  /// measures callables: for them, returns the device to which the fewest bytes must be copied, and
  /// among several, the one where it would begin first. If devices are equal, returns the one with
  /// the shortest queue, and then the one that got the fewest tasks.
  /// @param what  The launch; null if the task is a callable.
  /// @param text  Gets the reason.
  [[nodiscard]] device_ordinal choose(std::span<detail::datum_use const> uses, launch const* what,
                                      int priority, placement_text& text);
  /// Counts a task that was submitted.
  /// @param uses  The data of the task.
  void note(std::span<detail::datum_use const> uses, submitted_task const& task) noexcept;

 private:
  /// What speaks for and against a device.
  struct terms {
    std::size_t bytes = 0;    // to copy there
    double inputs_ns = 0;     // until the tasks have ended that compute the data
    double copies_ns = 0;     // for the copies
    double queue_ns = 0;      // for the open tasks
    double kernel_ns = 0;     // 0: unknown
    std::uint64_t tasks = 0;  // that the device got
    bool is_avoided = false;  // the device is stuck, and another one is not

    [[nodiscard]] double end_ns() const noexcept {
      return std::max(queue_ns, inputs_ns + copies_ns) + kernel_ns;
    }
    [[nodiscard]] std::string text() const;
  };
  struct load {
    device_queue queue{};
    std::uint64_t submitted = 0;  // tasks
    unsigned kind = 0;            // the first device of the same kind
  };

  [[nodiscard]] terms terms_on(std::span<detail::datum_use const> uses, launch const* what,
                               int priority, device const& on) noexcept;
  /// Adds the terms of data whose contents a task needs.
  void add_input(detail::datum& which, place to, terms& sum) const noexcept;
  /// Returns in how much time a copy of data will have its contents, as far as known.
  [[nodiscard]] double ready_ns(replica const& which) const noexcept;
  /// The same for all copies of data, and for their parts.
  [[nodiscard]] double ready_anywhere_ns(detail::datum const& which) const noexcept;
  /// The same for all tiles and partial results of data.
  [[nodiscard]] double parts_ready_ns(detail::datum const& which) const noexcept;
  /// Returns the index of the best element of `found_`.
  /// @param bytes_first  Whether the bytes to copy count more than the end.
  [[nodiscard]] std::size_t best_of_found(bool bytes_first) const noexcept;
  [[nodiscard]] std::string reason() const;

  /// Returns the measured time of the kernel of a launch on a device; 0 if it is unknown.
  [[nodiscard]] float measured_ns(launch const& what, device const& on) const noexcept;
  /// Returns the time that the kernel should take: the shortest that was measured on devices of the
  /// same kind, because a single measurement can be far off, or else the longest of others. 0 if it
  /// is unknown.
  [[nodiscard]] float kernel_ns(launch const& what, device const& on) const noexcept;
  /// Returns for how long a launch occupies a device: the time of its kernel, multiplied by the
  /// part of the device that it needs.
  [[nodiscard]] float occupied_ns(launch const& what, device const& on) const noexcept;

  dispatch::runtime_state& runtime_;
  data_mover const& mover_;
  link_table const links_;
  std::vector<load> loads_;   // by device
  std::vector<terms> found_;  // by device, of the task for which `choose` was called last
};

}  // namespace flotilla::flows
