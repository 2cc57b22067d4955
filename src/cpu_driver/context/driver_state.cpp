// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/context/driver_state.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "cpu_driver/base/wake_all.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/fault/injection.hpp"

namespace flotilla::cpu_driver {

driver_state& driver_state::get() noexcept {
  // The object is never destroyed. It is constructed without an allocation, because an allocation
  // could fail.
  alignas(driver_state) static std::byte storage[sizeof(driver_state)];
  static driver_state* const only = ::new (static_cast<void*>(storage)) driver_state;
  return *only;
}

CUresult driver_state::initialise() {
  // Check before locking: if another thread of the parent process held the mutex during the fork,
  // the mutex stays locked forever in the child.
  if (is_inherited_) { return CUDA_ERROR_NOT_INITIALIZED; }
  std::lock_guard const lock(mutex_);
  CUresult const now = ready();
  if (now != CUDA_ERROR_NOT_INITIALIZED) { return now; }

  environment wanted;
  std::string error;
  bool is_valid = read_environment(wanted, error);
  if (is_valid && !injection::apply(wanted.inject, error)) {
    is_valid = false;
    error = "FLOTILLA_CPU_INJECT: " + error;
  }
  if (!is_valid) {
#ifdef FLOTILLA_CPU_DROPIN
    // A program that uses the driver API gets only the status. flotilla itself throws the reason.
    base::log(log_level::error, "CPU driver: " + error);
#endif
    start_error_ = std::move(error);
    return CUDA_ERROR_INVALID_VALUE;
  }
  default_capacity_ = wanted.memory_bytes;
  add_devices(std::max(wanted.devices, min_devices_));

  struct stop_at_exit {
    ~stop_at_exit() { driver_state::get().end(); }
  };
  // Static destructors run in the reverse order of construction. This destructor therefore runs
  // before the destructors of all static objects that were constructed earlier, such as those of
  // oneTBB.
  static stop_at_exit const registered;
  // A child of fork() cannot use a driver that its parent has initialised, because the child has no
  // device threads. The same rule applies to a GPU's driver.
  ::pthread_atfork(nullptr, nullptr, [] {
    get().is_inherited_ = true;
    get().phase_.store(CUDA_ERROR_NOT_INITIALIZED, std::memory_order_release);
  });
  phase_.store(CUDA_SUCCESS, std::memory_order_release);
  return CUDA_SUCCESS;
}

std::string driver_state::start_error() {
  std::lock_guard const lock(mutex_);
  return start_error_;
}

device* driver_state::find_device(int ordinal) const noexcept {
  if (ordinal < 0 || ordinal >= device_count()) { return nullptr; }
  return devices_[static_cast<std::size_t>(ordinal)].load(std::memory_order_acquire);
}

void driver_state::ensure_devices(int count) {
  std::lock_guard const lock(mutex_);
  min_devices_ = std::clamp(count, min_devices_, max_devices);
  if (ready() == CUDA_SUCCESS) { add_devices(min_devices_); }
}

void driver_state::add_devices(int count) {
  for (int ordinal = device_count(); ordinal < count; ++ordinal) {
    auto const capacity = injection::capacity(ordinal).value_or(default_capacity_);
    auto* const added = new device(ordinal, capacity);
    register_wakeable(added->thread());
    devices_[static_cast<std::size_t>(ordinal)].store(added, std::memory_order_release);
    // release: pairs with the acquire in device_count()
    count_.store(ordinal + 1, std::memory_order_release);
  }
}

bool driver_state::inject(std::string_view spec, std::string& error) {
  std::lock_guard const lock(mutex_);
  if (!injection::apply(spec, error)) { return false; }
  set_capacities();
  return true;
}

void driver_state::clear_injection() {
  std::lock_guard const lock(mutex_);
  injection::clear();
  set_capacities();
}

void driver_state::set_capacities() noexcept {
  for (int ordinal = 0; ordinal < device_count(); ++ordinal) {
    auto const capacity = injection::capacity(ordinal).value_or(default_capacity_);
    find_device(ordinal)->memory().set_capacity(capacity);
  }
}

void driver_state::end() noexcept {
  if (is_inherited_) { return; }
  phase_.store(CUDA_ERROR_DEINITIALIZED, std::memory_order_release);
  for (auto const& each : devices_) {
    if (device* const found = each.load(std::memory_order_acquire)) { found->thread().stop(); }
  }
}

}  // namespace flotilla::cpu_driver
