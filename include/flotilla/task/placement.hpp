#pragma once
/// Which device gets a task that names none.

#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include <flotilla/device.hpp>
#include <flotilla/export.hpp>

namespace flotilla {

struct task_options;

/// Asked once a task, by the submitting thread, when neither the options nor a buffer name the device.
class FLOTILLA_EXPORT placement {
 public:
  virtual ~placement();
  /// @return the device, or nothing: then whichever device has room pulls the task, so that unequal
  ///         devices share the work as they can.
  /// Threads  any number at once. Must not block, and must not call the runtime.
  virtual std::optional<device_ordinal> place(std::span<device const> devices, task_options const& options) = 0;
};

/// Whoever has room: the default.
class FLOTILLA_EXPORT any_device final : public placement {
 public:
  std::optional<device_ordinal> place(std::span<device const>, task_options const&) override;
};

/// One after the other.
class FLOTILLA_EXPORT round_robin final : public placement {
 public:
  std::optional<device_ordinal> place(std::span<device const> devices, task_options const&) override;

 private:
  std::atomic<unsigned> next_{0};
};

/// In turn, but some more often than others: shares that are known beforehand. (Where they are not, any_device finds them.)
class FLOTILLA_EXPORT weighted final : public placement {
 public:
  /// @param weights  One for each device, by ordinal: a share of the tasks is weight / sum, to a thousandth. A device of
  ///                 weight 0 gets none.
  /// @throws invalid_argument  none, a weight that is negative or not finite, or nothing but zeros
  explicit weighted(std::vector<double> const& weights);
  /// @throws invalid_argument  there are more or fewer devices than weights
  std::optional<device_ordinal> place(std::span<device const> devices, task_options const&) override;

 private:
  std::size_t devices_;
  std::vector<unsigned> turns_;  // a round, each device spread evenly over it
  std::atomic<unsigned> next_{0};
};

}  // namespace flotilla
