#include "cpu_driver/driver_state.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cpu_driver/device.hpp"
#include "cpu_driver/environment.hpp"
#include "cpu_driver/injection.hpp"

namespace flotilla::cpu_driver {

driver_state& driver_state::get() noexcept {
  static driver_state* const only = new driver_state;
  return *only;
}

CUresult driver_state::initialise() {
  std::lock_guard const lock(mutex_);
  CUresult const now = ready();
  if (now != CUDA_ERROR_NOT_INITIALIZED) { return now; }

  environment asked;
  std::string error;
  if (!read_environment(asked, error) || !injection::apply(asked.inject, error)) {
    std::fprintf(stderr, "flotilla CPU driver: %s\n", error.c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
  default_capacity_ = asked.memory_bytes;
  add_devices(std::max(asked.devices, least_devices_));

  struct last_rites {
    ~last_rites() { driver_state::get().end(); }
  };
  // Registered now, so that it runs before the end of what was there before the driver, oneTBB
  // included.
  static last_rites const at_exit;
  phase_.store(CUDA_SUCCESS, std::memory_order_release);
  return CUDA_SUCCESS;
}

device* driver_state::find_device(int ordinal) const noexcept {
  if (ordinal < 0 || ordinal >= device_count()) { return nullptr; }
  return devices_[static_cast<std::size_t>(ordinal)].load(std::memory_order_acquire);
}

void driver_state::ensure_devices(int count) {
  std::lock_guard const lock(mutex_);
  least_devices_ = std::clamp(count, least_devices_, max_devices);
  if (ready() == CUDA_SUCCESS) { add_devices(least_devices_); }
}

void driver_state::add_devices(int count) {
  for (int ordinal = device_count(); ordinal < count; ++ordinal) {
    auto const capacity = injection::capacity(ordinal).value_or(default_capacity_);
    devices_[static_cast<std::size_t>(ordinal)].store(new device(ordinal, capacity),
                                                      std::memory_order_release);
    count_.store(ordinal + 1,
                 std::memory_order_release);  // pairs with the acquire in device_count()
  }
}

void driver_state::nudge_devices() noexcept {
  for (auto const& each : devices_) {
    if (device* const found = each.load(std::memory_order_acquire)) { found->queue().nudge(); }
  }
}

void driver_state::end() noexcept {
  phase_.store(CUDA_ERROR_DEINITIALIZED, std::memory_order_release);
  for (auto const& each : devices_) {
    if (device* const found = each.load(std::memory_order_acquire)) { found->queue().stop(); }
  }
}

}  // namespace flotilla::cpu_driver
