// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of the driver in this process: its devices, and whether the driver can be used. The
// object is made on first use. It is never destroyed, because threads and static destructors may
// call the driver until the process ends. At process exit the device threads are stopped, and every
// later call returns CUDA_ERROR_DEINITIALIZED.

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

#include "cpu_driver/base/environment.hpp"

namespace flotilla::cpu_driver {

class device;

class driver_state {
 public:
  [[nodiscard]] static driver_state& get() noexcept;

  /// Implements cuInit: reads the environment and makes the devices. Does nothing if the driver is
  /// already initialised. Threads: any.
  [[nodiscard]] CUresult initialise();
  /// Returns why initialise() has refused the environment, or an empty text if it has not.
  [[nodiscard]] std::string start_error();
  /// Returns CUDA_SUCCESS between initialise() and process exit, and an error before and after.
  [[nodiscard]] CUresult ready() const noexcept {
    return phase_.load(std::memory_order_acquire);  // pairs with the release in initialise()
  }

  [[nodiscard]] int device_count() const noexcept {
    return count_.load(std::memory_order_acquire);  // pairs with the release in add_devices()
  }
  /// Returns null if there is no such device.
  [[nodiscard]] device* find_device(int ordinal) const noexcept;
  /// Adds devices until there are at least `count`, but at most max_devices. Before initialise(),
  /// only stores `count` for initialise().
  void ensure_devices(int count);

  /// Adds fault injection rules (see injection.hpp). If a rule is invalid, changes nothing, sets
  /// `error` to the reason and returns false.
  [[nodiscard]] bool inject(std::string_view spec, std::string& error);
  void clear_injection();

 private:
  driver_state() = default;
  void add_devices(int count);     // the caller must hold mutex_
  void set_capacities() noexcept;  // the caller must hold mutex_
  void end() noexcept;             // runs at process exit

  std::atomic<CUresult> phase_{CUDA_ERROR_NOT_INITIALIZED};
  bool is_inherited_ = false;  // set in a child of fork(), before the child has a second thread
  std::mutex mutex_;           // held while devices are added or injections change
  std::atomic<int> count_{0};
  std::array<std::atomic<device*>, max_devices> devices_{};  // devices are never removed
  std::size_t default_capacity_ = 0;  // bytes per device; set by initialise()
  int min_devices_ = 1;               // guarded by mutex_
  std::string start_error_;           // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
