#pragma once
// The driver of this process: its devices, and whether it can be used. Made on first use and never
// destroyed, because threads and static destructors may call until the very end; at exit the device
// threads are stopped and every further call answers CUDA_ERROR_DEINITIALIZED.

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

  /// cuInit: reads the environment and makes the devices. May be called again, by any thread.
  [[nodiscard]] CUresult initialise();
  /// CUDA_SUCCESS between initialise() and the end of the process.
  [[nodiscard]] CUresult ready() const noexcept {
    return phase_.load(std::memory_order_acquire);  // pairs with the release in initialise()
  }

  [[nodiscard]] int device_count() const noexcept {
    return count_.load(std::memory_order_acquire);  // pairs with the release in add_devices()
  }
  /// Null if there is no such device.
  [[nodiscard]] device* find_device(int ordinal) const noexcept;
  /// From now on there are at least `count` devices, but at most max_devices.
  void ensure_devices(int count);

  /// Adds injections: see injection.hpp. False: `error` says why not, and nothing has changed.
  [[nodiscard]] bool inject(std::string_view spec, std::string& error);
  void clear_injection();

 private:
  driver_state() = default;
  // With mutex_ held:
  void add_devices(int count);
  void set_capacities() noexcept;
  void end() noexcept;

  std::atomic<CUresult> phase_{CUDA_ERROR_NOT_INITIALIZED};
  bool is_inherited_ = false;  // set by fork() in a child, before the child has a second thread
  std::mutex mutex_;           // held while devices are added or injections change
  std::atomic<int> count_{0};
  std::array<std::atomic<device*>, max_devices> devices_{};  // devices are only added
  std::size_t default_capacity_ = 0;  // bytes of a device; set by initialise()
  int min_devices_ = 1;               // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
