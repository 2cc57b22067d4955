// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/device_side_waits.hpp"

#include <algorithm>
#include <utility>

#include "context/kernel_waits.hpp"
#include "dispatch/graph/launch_shape.hpp"

namespace flotilla::dispatch {

namespace {

constexpr std::uint32_t max_device_waits = 8;
// A wait may be long if its completion number is more than this many batches ahead of the last
// completed batch of that lane. Such a wait is done by the stream and not by a spin kernel, because
// a waiting stream occupies no multiprocessor.
constexpr std::uint64_t max_batches_ahead = 2;
constexpr std::chrono::seconds max_callable_delay{1};
// If this many tasks already wait for room, no further task is held back. A chain has only one
// runnable task at a time, so these tasks belong to several chains. Holding back another task would
// delay the tasks of other chains.
constexpr std::size_t max_kept = 4;

/// Whether other processes may run kernels on the device at the same time. Kernels of two processes
/// that wait for other devices could then each fill one device, and wait for ever. Drivers that do
/// not know the attribute say no.
bool shares_by_mps(context::context_handle const& context) {
  CUdevice device = 0;
  int shares = 0;
  driver::table const& api = context.api();
  return api.device_get(&device, context.where().driver_ordinal) == CUDA_SUCCESS &&
         api.device_get_attribute(&shares, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device) ==
             CUDA_SUCCESS &&
         shares != 0;
}

}  // namespace

bool device_side_waits::is_own_device() const {
  device_settings const& settings = parts_.context.asked();
  if (!context::kernels_may_wait(settings) || parts_.devices < 2) { return false; }
  // No device-side waits in a context that flotilla does not own, because other code may launch any
  // kernel in it, and none if the number of multiprocessors is not known, or is too small.
  context_source const source = settings.context.value_or(context_source::owned());
  bool const is_own =
      source.kind == context_source::kinds::owned || source.kind == context_source::kinds::green;
  if (!is_own || settings.exec_affinity) { return false; }
  // A kernel that waits for an isolated device would wait forever if that device is lost.
  if (parts_.context.api().recovery != nullptr) { return false; }
  return !ends_long_kernels(parts_.context);
}

bool ends_long_kernels(context::context_handle const& context) {
  CUdevice device = 0;
  int ends = 1;
  driver::table const& api = context.api();
  bool const is_known = api.device_get(&device, context.where().driver_ordinal) == CUDA_SUCCESS &&
                        api.device_get_attribute(&ends, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT,
                                                 device) == CUDA_SUCCESS;
  return !is_known || ends != 0;
}

void device_side_waits::begin_pass() {
  if (!allowed_.has_value()) {
    bool const is_own = is_own_device();
    in_grids_ = is_own && !shares_by_mps(parts_.context);
    allowed_ = is_own && parts_.functions.spin != nullptr && max_count() != 0;
  }
  auto const& kernels = parts_.shared.kernels.kernels;
  for (; *allowed_ && kernels_seen_ < kernels.size(); ++kernels_seen_) {
    // After a kernel that runs in clusters was loaded, this device uses no device-side waits.
    CUfunction const function = kernels[kernels_seen_].functions[parts_.lanes.device()];
    allowed_ = !may_need_clusters(parts_.context, function);
  }
  if (!any()) { return; }
  auto const now = std::chrono::steady_clock::now();
  passes_are_frequent_ =
      now - std::exchange(last_pass_, now) < parts_.shared.tuned.device_wait_turnover / 5;
}

std::uint32_t device_side_waits::max_count() const noexcept {
  auto const multiprocessors = static_cast<unsigned>(parts_.context.where().multiprocessors);
  return std::min(max_device_waits,
                  multiprocessors / parts_.shared.tuned.multiprocessors_per_device_wait);
}

void device_side_waits::disable() noexcept {
  allowed_ = false;
  if (!disabled_since_) { disabled_since_ = std::chrono::steady_clock::now(); }
}

bool device_side_waits::callables_may_run() const {
  return !any() || (disabled_since_ &&
                    std::chrono::steady_clock::now() - *disabled_since_ > max_callable_delay);
}

end_mark device_side_waits::near_wait(std::span<end_mark const> waits,
                                      std::uint64_t max_batches) const noexcept {
  for (end_mark const mark : waits) {
    if (mark.device() == parts_.lanes.device()) { continue; }
    if (parts_.shared.board.event_of(mark) != nullptr) { continue; }  // no device writes its number
    std::uint64_t const reached = parts_.shared.board.number(mark);
    if (reached < mark.number() && reached + max_batches >= mark.number()) { return mark; }
  }
  return {};
}

end_mark device_side_waits::choose(std::span<end_mark const> waits,
                                   kernel_profile const& profile) const {
  // The duration of a kernel cannot be measured in a batch with a device-side wait. So a kernel
  // gets a device-side wait only after its duration is known.
  if (profile.kernel_ns() == 0 || !allowed_.value_or(false)) { return {}; }
  end_mark const near = near_wait(waits, max_batches_ahead);
  bool const has_room =
      near.valid() && count() < max_count() && context::live_contexts() == parts_.devices;
  return has_room ? near : end_mark{};
}

end_mark device_side_waits::choose_in_turn(std::span<end_mark const> waits,
                                           kernel_profile const& profile, unsigned lane) const {
  bool may_wait = profile.kernel_ns() != 0 && allowed_.value_or(false) &&
                  context::live_contexts() == parts_.devices;
  if (may_wait && count() >= max_count()) {
    dispatch::lane const& own = parts_.lanes[lane];
    may_wait = false;
    for (std::size_t i = own.in_flight(); i-- > 0 && !may_wait;) {
      may_wait = own.in_flight(i).waits_on_device;
    }
  }
  return may_wait ? near_wait(waits, dispatch::lane::max_batches) : end_mark{};
}

bool device_side_waits::should_keep(slot const& task, std::span<end_mark const> waits,
                                    std::size_t waiting) const {
  // Hold back neither urgent tasks nor tasks with several end marks to wait for. A spin kernel
  // waits for only one mark. The stream would still have to wait for the other marks, so holding
  // back a task with several marks gains little.
  if (!any() || task.level != 0 || waits.size() != 1 || !allowed_.value_or(false)) { return false; }
  if (count() < max_count() || waiting >= max_kept) { return false; }
  auto const since_end = std::chrono::steady_clock::now() - last_end_;
  return since_end < parts_.shared.tuned.device_wait_turnover && passes_are_frequent_ &&
         parts_.profiles.of(task.kernel).kernel_ns() != 0 &&
         near_wait(waits, max_batches_ahead).valid();
}

}  // namespace flotilla::dispatch
