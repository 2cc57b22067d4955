// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/device_set.hpp"

#include <algorithm>
#include <atomic>
#include <exception>

namespace flotilla::dispatch {

device_set::lease_guard::~lease_guard() {
  lease_.reset();
  bool const is_work_left = device_.inbound().needs_drain_after_release();
  devices_.shared_.bell.ring_after_lease(device_.inbound().is_announced(),
                                         is_work_left || devices_.shared_.shared.is_pending());
}

bool device_set::drain_if_free(device_driver& device, helper_filter filter,
                               device_driver::stop_predicate const& stop) const {
  std::optional<context::lease> lease = device.gate().try_take();
  if (!lease) { return false; }
  lease_guard guard{*this, device, std::move(*lease)};
  return device.drain(guard.lease(), filter, stop);
}

bool device_set::is_busy(unsigned device) const noexcept {
  device_driver const& one = *devices_[device];
  return one.gate().held() || one.inbound().needs_drain() || shared_.shared.is_pending();
}

bool device_set::collect_if_free(device_driver& device) const {
  std::optional<context::lease> lease = device.gate().try_take();
  if (!lease) { return false; }
  lease_guard const guard{*this, device, std::move(*lease)};
  return device.retire();
}

bool device_set::read_if_free(device_driver const& device,
                              std::function<void()> const& read) const {
  if (device.gate().held_by_this_thread()) {  // inside a callable
    read();
    return true;
  }
  std::optional<context::lease> lease = device.gate().try_take();
  if (!lease) { return false; }
  lease_guard const guard{*this, device, std::move(*lease)};
  read();
  return true;
}

bool device_set::collect_all() const {
  bool moved = false;
  for (auto const& device : devices_) {
    if (device->lanes().has_batches() && !device->gate().held()) {
      moved = collect_if_free(*device) || moved;
    }
  }
  return moved;
}

bool device_set::share_copies(device_driver::stop_predicate const& stop) const noexcept {
  bool copied = false;
  for (auto const& device : devices_) { copied = device->share_copy(stop) || copied; }
  return copied;
}

bool device_set::help(helper_filter filter, std::optional<unsigned> first,
                      device_driver::stop_predicate const& stop) const {
  bool moved = false;
  unsigned const begin = first.value_or(filter.helper % size());
  for (unsigned i = 0; i < size() && !stop(); ++i) {
    device_driver& device = *devices_[(begin + i) % size()];
    // This thread holds the lease already, because it is inside one of the device's callables.
    if (device.gate().held_by_this_thread()) { continue; }
    if (!device.inbound().needs_drain() && !shared_.shared.is_pending() &&
        !device.lanes().has_batches()) {
      continue;
    }
    // If another thread drives the device, take part in its copy.
    moved = drain_if_free(device, filter, stop) || device.share_copy(stop) || moved;
  }
  return moved;
}

void device_set::retire(epoch_reclaimer::item const& item) const noexcept {
  shared_.reclaimer.retire_in_room(item);
  if (shared_.tasks.any_open() || shared_.faults.is_poisoned()) { return; }
  device_driver& device = *devices_[item.device];
  std::optional<context::lease> lease = device.gate().try_take();
  if (!lease) { return; }
  lease_guard guard{*this, device, std::move(*lease)};
  try {
    context::current_scope const scope{guard.lease()};
    device.free_unused(deferred_free::blocking::allowed);  // does not block: no task is open
  } catch (std::exception const&) {
    // The context cannot be made current, or there is no host memory. The item is freed later, or
    // when the context is destroyed.
  }
}

bool device_set::other_work_pending(device_driver const& device) const noexcept {
  continuation_table const& table = shared_.continuations;
  if (table.any_due() || (table.watching() && shared_.faults.is_poisoned())) { return true; }
  return std::any_of(devices_.begin(), devices_.end(), [&](auto const& other) {
    return other.get() != &device && ((other->inbound().needs_drain() && !other->gate().held()) ||
                                      shared_.shared.is_pending());
  });
}

bool device_set::work_pending() const noexcept {
  return shared_.shared.is_pending() ||
         std::any_of(devices_.begin(), devices_.end(),
                     [](auto const& device) { return device->inbound().needs_drain(); });
}

bool device_set::unattended_work() const noexcept {
  return std::any_of(devices_.begin(), devices_.end(), [&](auto const& device) {
    return (device->inbound().needs_drain() || shared_.shared.is_pending()) &&
           !device->gate().held();
  });
}

bool device_set::any_batches() const noexcept {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](auto const& device) { return device->lanes().has_batches(); });
}

bool device_set::any_ended() const noexcept {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](auto const& device) { return device->lanes().any_ended(); });
}

bool device_set::all_retired() const noexcept {
  return std::all_of(devices_.begin(), devices_.end(),
                     [](auto const& device) { return device->gate().retired() != CUDA_SUCCESS; });
}

}  // namespace flotilla::dispatch
