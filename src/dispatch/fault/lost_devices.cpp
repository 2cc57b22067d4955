// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/lost_devices.hpp"

#include <exception>
#include <utility>

#include <flotilla/error/driver_status.hpp>
#include <flotilla/error/error.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

void lost_devices::note(unsigned device, CUresult why) noexcept {
  watched_device& one = devices_[device];
  CUresult healthy = CUDA_SUCCESS;
  one.why.compare_exchange_strong(healthy, why, std::memory_order_relaxed);
  if (!is_quarantined(device)) { one.inbound.announce(); }
}

void lost_devices::kill(unsigned device) noexcept {
  watched_device& one = devices_[device];
  one.recovery->kill(one.user());
  note(device, CUDA_ERROR_LAUNCH_TIMEOUT);
}

void lost_devices::crash(unsigned device) noexcept {
  watched_device& one = devices_[device];
  one.recovery->crash(one.user());
}

void lost_devices::look() noexcept {
  if (!any_isolated_) { return; }
  for (unsigned device = 0; device < devices_.size(); ++device) {
    if (is_lost(device)) { devices_[device].inbound.announce(); }
  }
}

void lost_devices::check_usable(unsigned device, bool is_replaced) const {
  if (is_quarantined(device)) { std::rethrow_exception(failure_of(device)->error); }
  if (is_replaced) { return; }
  context::context_handle const& context = devices_[device].context;
  throw device_fault(driver::status_of(status_of(device)), context.where().ordinal, "", false,
                     context.subject() +
                         " was lost and gets another worker process later "
                         "(runtime_options::restart)");
}

CUresult lost_devices::status_of(unsigned device) const noexcept {
  watched_device const& one = devices_[device];
  CUresult const noted = one.why.load(std::memory_order_relaxed);
  if (is_sticky(driver::status_of(noted))) { return noted; }
  // Nobody has called the driver since the loss.
  CUresult const known = one.recovery->status(one.user());
  return is_sticky(driver::status_of(known)) ? known : CUDA_ERROR_LAUNCH_FAILED;
}

std::string lost_devices::reason_of(unsigned device) const {
  watched_device const& one = devices_[device];
  return one.recovery->reason(one.user());
}

lost_devices::decision lost_devices::decide(unsigned device) {
  watched_device& one = devices_[device];
  auto const now = restart_limit::clock::now();
  if (!std::exchange(one.is_counted, true) && !one.limit.note_loss(now)) {
    return decision::give_up;
  }
  return now < one.limit.not_before() ? decision::wait : decision::replace;
}

bool lost_devices::replace(unsigned device) noexcept {
  watched_device& one = devices_[device];
  // A status that no call returns again, or a stream that answers nothing but errors.
  if (!one.recovery->is_lost(one.user())) { one.recovery->kill(one.user()); }
  // Until `note_usable`, nobody takes the tasks of the old worker process for tasks that hang.
  CUresult healthy = CUDA_SUCCESS;
  one.why.compare_exchange_strong(healthy, status_of(device), std::memory_order_relaxed);
  return one.recovery->replace(one.user());
}

void lost_devices::note_usable(unsigned device) noexcept {
  devices_[device].why.store(CUDA_SUCCESS, std::memory_order_relaxed);
  devices_[device].is_counted = false;
}

void lost_devices::quarantine(unsigned device, std::shared_ptr<failure const> why) noexcept {
  watched_device& one = devices_[device];
  one.failure_of_all = std::move(why);
  // release: pairs with the acquire in is_quarantined
  one.is_quarantined.store(true, std::memory_order_release);
  quarantined_.fetch_add(1, std::memory_order_release);
}

}  // namespace flotilla::dispatch
