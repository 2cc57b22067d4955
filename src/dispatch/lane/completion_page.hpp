#pragma once
// How far each lane of a device is, in memory that the device writes.

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "context/context_handle.hpp"
#include "dispatch/lane/registered_memory.hpp"

namespace flotilla::dispatch {

/// A 64-bit counter for each lane of a device, each on a line of its own, in mapped memory. The
/// device writes them; any thread reads them, also after the context is gone.
class completion_page {
 public:
  /// With the context current. @throws driver_error, std::bad_alloc
  /// @param first_number  Where all counters begin. Tests begin shortly before the counters exceed
  /// 32 bits.
  completion_page(context::context_handle const& context, unsigned lanes,
                  std::uint64_t first_number = 0);
  completion_page(completion_page const&) = delete;
  completion_page& operator=(completion_page const&) = delete;
  /// With the context current, after the lanes are gone. The numbers stay readable.
  void unregister() noexcept { memory_.unregister(); }

  /// Every batch of the lane up to this number is done, and its results are visible. Threads: any.
  [[nodiscard]] std::uint64_t number(unsigned lane) const noexcept {
    // acquire: pairs with the device's write, and with the release in raise
    return std::atomic_ref<std::uint64_t>{numbers_[lane * stride]}.load(std::memory_order_acquire);
  }
  /// Raises a counter if the device could not be told to write it. Threads: any.
  void raise(unsigned lane, std::uint64_t number) noexcept;
  [[nodiscard]] CUdeviceptr device_address(unsigned lane) const noexcept {
    return memory_.device() + lane * stride * sizeof(std::uint64_t);
  }

  /// Stops the spin kernels that run on this device (see builtin_functions::spin). They trap, so
  /// call it only if the runtime is poisoned. Threads: any.
  void stop() noexcept {
    // No acquire pairs with it: a spin kernel that reads it only traps.
    std::atomic_ref<std::uint64_t>{numbers_[lanes_ * stride]}.store(1, std::memory_order_release);
  }
  /// The word that `stop` sets; 0 before.
  [[nodiscard]] CUdeviceptr stop_address() const noexcept { return device_address(lanes_); }

 private:
  static constexpr std::size_t stride = 8;  // words: one line
  unsigned const lanes_;
  registered_memory memory_;
  std::uint64_t* numbers_;
};

}  // namespace flotilla::dispatch
