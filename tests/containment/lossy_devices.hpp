// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// CPU devices in this process that can be lost and replaced like isolated devices.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cpu_driver/api/control.hpp"
#include "driver/device_recovery.hpp"
#include "driver/library.hpp"

namespace flotilla::test {

/// A fault of one of these devices concerns only this device. `replace` waits until the device has
/// abandoned its operations, and lets it go on. Threads: any.
class lossy_devices final : public driver::device_recovery {
 public:
  explicit lossy_devices(int devices) : devices_(devices) {
    static_cast<void>(driver::cpu_driver());
    control().ensure_devices(devices);
    for (int i = 0; i < devices_; ++i) { control().confine_faults(i, true); }
  }
  ~lossy_devices() {
    for (int i = 0; i < devices_; ++i) {
      if (is_lost(i)) { control().replace_device(i); }
      control().confine_faults(i, false);
    }
  }

  /// From now on, no successor can be started.
  void refuse_replacements() noexcept { refuses_.store(true); }
  [[nodiscard]] int replacements() const noexcept { return replacements_.load(); }

  [[nodiscard]] bool is_lost(user const& who) const noexcept override {
    return control().fault_of_device(who.ordinal) != 0;
  }
  [[nodiscard]] CUresult status(user const& who) const noexcept override {
    return static_cast<CUresult>(control().fault_of_device(who.ordinal));
  }
  [[nodiscard]] std::string reason(user const& who) const override {
    if (!is_lost(who)) { return {}; }
    return refuses_.load() ? "no worker process could be started" : "its worker process was lost";
  }
  void kill(user const& who) noexcept override {
    control().lose_device(who.ordinal, CUDA_ERROR_LAUNCH_TIMEOUT);
  }
  /// Loses a device at once, as if its worker process had been killed.
  void crash(user const& who) noexcept override {
    control().lose_device(who.ordinal, CUDA_ERROR_LAUNCH_FAILED);
  }
  [[nodiscard]] bool replace(user const& who) noexcept override {
    if (refuses_.load()) { return false; }
    control().replace_device(who.ordinal);
    replacements_.fetch_add(1);
    return true;
  }
  [[nodiscard]] bool can_access(int, std::uintptr_t) const override { return true; }
  [[nodiscard]] void* allocate_shared(std::size_t bytes) override {
    constexpr std::size_t page = 4096;
    std::size_t const whole = (bytes + page - 1) / page * page;
    void* const made = std::aligned_alloc(page, whole);
    return made == nullptr ? nullptr : std::memset(made, 0, whole);
  }
  void free_shared(void* memory) noexcept override { std::free(memory); }

 private:
  static cpu_driver::flotilla_cpu_driver_control const& control() noexcept {
    return driver::cpu_control();
  }

  int const devices_;
  std::atomic<bool> refuses_{false};
  std::atomic<int> replacements_{0};
};

}  // namespace flotilla::test
