#pragma once
// Questions about tasks that were submitted.

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include <flotilla/device/device.hpp>
#include <flotilla/task/ticket.hpp>

#include "dispatch/device/runtime_parts.hpp"

namespace flotilla::dispatch {

/// Threads: any. Changes nothing.
class task_query {
 public:
  explicit task_query(runtime_parts const& shared) noexcept : shared_(shared) {}

  /// Whether the task has ended, well or badly. Cost: three loads.
  [[nodiscard]] bool has_ended(task_id const& id) const noexcept;
  /// Whether the task was launched, or has ended.
  [[nodiscard]] bool was_launched(task_id const& id) const noexcept {
    return shared_.tasks.at(id.slot).end.load(std::memory_order_acquire) != 0;
  }
  /// Why an ended task failed, or null.
  [[nodiscard]] std::shared_ptr<failure const> failure_of(task_id const& id) const;
  [[nodiscard]] std::exception_ptr error_of(task_id const& id) const;
  /// The device that has, or had, the task.
  /// @param known  What the ticket remembers: 1 + the device, or 0. Brought up to date.
  [[nodiscard]] std::optional<device_ordinal> device_of(task_id const& id,
                                                        std::uint32_t& known) const noexcept;

 private:
  runtime_parts const& shared_;
};

}  // namespace flotilla::dispatch
