// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Placements: they choose a device for tasks that name no device.

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

struct task_options;

/// What a task of a flow does with one of its data. As long as partial results are not combined or
/// tiles not joined, the data may have no valid copy.
struct data_access {
  std::string_view label;  // of the data
  std::size_t bytes;       // 0 for a token
  bool reads;              // `read` or `update`
  bool writes;             // `write`, `update` or `reduce`
  /// Whether the host has a valid copy, or will have one after the submitted tasks.
  bool is_valid_on_host;
  /// The devices that have a valid copy, or will have one after the submitted tasks.
  std::span<device_ordinal const> valid_on;
};

/// Chooses a device for each task whose options and buffers name no device.
class FLOTILLA_EXPORT placement {
 public:
  virtual ~placement();
  /// The submitting thread calls this function once for each such task. The function must not
  /// block, and must not call the runtime, a flow or data.
  /// @return The device. If empty, the first device with room in its window takes the task. In this
  ///         way a faster device takes more tasks.
  /// Threads  Several threads may call this function at the same time.
  virtual std::optional<device_ordinal> place(std::span<device const> devices,
                                              task_options const& options) = 0;
  /// The same for a task of a flow (<flotilla/data/flow.hpp>), whose data the function sees. Called
  /// once for each task whose options and buffers name no device, but not for host tasks. The
  /// default calls `place`, which does not see the data. An exception of this function leaves
  /// `submit`, and a device that does not exist makes `submit` throw unknown_device.
  /// @param accesses  One element for each use, in their order. Valid until the function returns.
  ///                  Other threads may submit tasks meanwhile, so copies may have become invalid.
  /// @return The device. If empty, the flow chooses it.
  virtual std::optional<device_ordinal> place_with_data(std::span<device const> devices,
                                                        task_options const& options,
                                                        std::span<data_access const> accesses);
};

/// The default: the first device with room in its window takes the task.
class FLOTILLA_EXPORT any_device final : public placement {
 public:
  std::optional<device_ordinal> place(std::span<device const>, task_options const&) override;
};

/// Chooses the devices in turn.
class FLOTILLA_EXPORT round_robin final : public placement {
 public:
  std::optional<device_ordinal> place(std::span<device const> devices,
                                      task_options const&) override;

 private:
  std::atomic<unsigned> next_{0};
};

/// Gives each device a fixed share of the tasks. If you do not know the right shares, use
/// any_device, which gives more tasks to faster devices by itself.
class FLOTILLA_EXPORT weighted final : public placement {
 public:
  /// @param weights  One weight for each device, in the order of the ordinals. The share of a
  ///                 device is its weight divided by the sum of all weights, rounded to a
  ///                 thousandth.
  /// @throws invalid_argument  `weights` is empty; or a weight is negative or not finite; or all
  ///                           weights are zero.
  explicit weighted(std::vector<double> const& weights);
  /// @throws invalid_argument  The number of devices differs from the number of weights.
  std::optional<device_ordinal> place(std::span<device const> devices,
                                      task_options const&) override;

 private:
  std::size_t devices_;
  std::vector<unsigned> turns_;  // one device per turn; the turns of a device are evenly spread
  std::atomic<unsigned> next_{0};
};

}  // namespace v0_1
}  // namespace flotilla
