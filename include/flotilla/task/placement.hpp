#pragma once
/// The choice of a device for tasks that name none.

#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include <flotilla/detail/export.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

struct task_options;

/// Chooses a device for each task whose options and buffers name none. The submitting thread calls
/// it once for each task.
class FLOTILLA_EXPORT placement {
 public:
  virtual ~placement();
  /// @return the device. Empty: the first device with room pulls the task, so that devices of
  ///         different speed share the work.
  /// Threads  any number at once. It must not block, and must not call the runtime.
  virtual std::optional<device_ordinal> place(std::span<device const> devices,
                                              task_options const& options) = 0;
};

/// The first device with room. The default.
class FLOTILLA_EXPORT any_device final : public placement {
 public:
  std::optional<device_ordinal> place(std::span<device const>, task_options const&) override;
};

/// One device after the other.
class FLOTILLA_EXPORT round_robin final : public placement {
 public:
  std::optional<device_ordinal> place(std::span<device const> devices,
                                      task_options const&) override;

 private:
  std::atomic<unsigned> next_{0};
};

/// In turn, with given shares. If the shares are unknown, use any_device, which balances by itself.
class FLOTILLA_EXPORT weighted final : public placement {
 public:
  /// @param weights  One for each device, by ordinal. A device gets weight / sum of the tasks, to a
  ///                 thousandth.
  /// @throws invalid_argument  There is no weight, one is negative or not finite, or all are zero.
  explicit weighted(std::vector<double> const& weights);
  /// @throws invalid_argument  The number of devices differs from the number of weights.
  std::optional<device_ordinal> place(std::span<device const> devices,
                                      task_options const&) override;

 private:
  std::size_t devices_;
  std::vector<unsigned> turns_;  // one round of devices, each spread evenly over it
  std::atomic<unsigned> next_{0};
};

}  // namespace v0_1
}  // namespace flotilla
