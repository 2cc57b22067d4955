// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The progress of each lane of a device, in memory that the device writes.

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/lane/registered_memory.hpp"

namespace flotilla::dispatch {

/// A 64-bit counter for each lane of a device, and a status word for each batch that can be in
/// flight. The words are in mapped host memory, each counter on its own cache line. The device
/// writes the words. Any thread may read them, even after the context was destroyed.
class completion_page {
 public:
  static constexpr std::size_t max_batches = 48;  // in flight in one lane

  /// Call it with the context current.
  /// @param first_number  The initial value of all counters. Tests use a value just below 2^32.
  /// @throws driver_error, std::bad_alloc
  completion_page(context::context_handle const& context, unsigned lanes,
                  std::uint64_t first_number = 0);
  completion_page(completion_page const&) = delete;
  completion_page& operator=(completion_page const&) = delete;
  /// Unregisters the memory. Call it with the context current, after the lanes are destroyed. The
  /// numbers stay readable.
  void unregister() noexcept { memory_.unregister(); }

  /// Returns the lane's completion number. Every batch up to this number has ended, and its results
  /// are visible. Threads: any.
  [[nodiscard]] std::uint64_t number(unsigned lane) const noexcept {
    // acquire: pairs with the device's write, and with the release in raise
    return std::atomic_ref<std::uint64_t>{numbers_[lane * stride]}.load(std::memory_order_acquire);
  }
  /// Raises a counter to `number`. If the driver refused to write the number, call this function
  /// after the work has ended. Threads: any.
  void raise(unsigned lane, std::uint64_t number) noexcept;
  [[nodiscard]] CUdeviceptr device_address(unsigned lane) const noexcept {
    return memory_.device() + lane * stride * sizeof(std::uint64_t);
  }

  /// Clears the status word of the batch `number` of a lane. Call it before the batch is launched.
  /// @return the word's address, for a kernel of this batch.
  [[nodiscard]] CUdeviceptr clear_status(unsigned lane, std::uint64_t number) noexcept;
  /// Returns the status word of a batch that has ended: 0, or the value that flotilla::fail wrote.
  [[nodiscard]] std::uint64_t status(unsigned lane, std::uint64_t number) const noexcept {
    // relaxed: the caller has already acquired the completion number, which is written later
    return std::atomic_ref<std::uint64_t>{numbers_[status_index(lane, number)]}.load(
        std::memory_order_relaxed);
  }

  /// Sets whether the batches `number` and `number + 1` of a lane run side by side, as parts of one
  /// grid. Only the holder of the device's lease calls it, for batches in flight.
  void set_beside_next(unsigned lane, std::uint64_t number, bool beside) noexcept {
    // relaxed: the marks of the tasks are released later. Only this thread writes.
    std::uint64_t const before = beside_next_[lane].load(std::memory_order_relaxed);
    std::uint64_t const bit = std::uint64_t{1} << number % max_batches;
    std::uint64_t const after = beside ? before | bit : before & ~bit;
    if (after != before) { beside_next_[lane].store(after, std::memory_order_relaxed); }
  }
  /// Returns what `set_beside_next` has set. Threads: any that has acquired the mark of a task of
  /// the batch.
  [[nodiscard]] bool is_beside_next(unsigned lane, std::uint64_t number) const noexcept {
    return (beside_next_[lane].load(std::memory_order_relaxed) >> number % max_batches & 1) != 0;
  }

  /// Stops the spin kernels on this device (see builtin_functions::spin). The kernels then trap,
  /// which is a fault. So call it only if the runtime is poisoned. Threads: any.
  void stop() noexcept {
    // No acquire pairs with this release. None is needed, because a spin kernel that sees the flag
    // traps and reads nothing else.
    std::atomic_ref<std::uint64_t>{numbers_[lanes_ * stride]}.store(1, std::memory_order_release);
  }
  /// The address of the word that `stop` sets. The word is 0 until `stop` is called.
  [[nodiscard]] CUdeviceptr stop_address() const noexcept { return device_address(lanes_); }

 private:
  static constexpr std::size_t stride = 8;  // words per cache line
  /// The batches in flight in a lane have consecutive numbers, so they have different words.
  [[nodiscard]] std::size_t status_index(unsigned lane, std::uint64_t number) const noexcept {
    return (lanes_ + 1) * stride + lane * max_batches + number % max_batches;
  }

  unsigned const lanes_;
  registered_memory memory_;
  std::uint64_t* numbers_;
  std::vector<std::atomic<std::uint64_t>> beside_next_;  // by lane: sets of numbers % max_batches
};

}  // namespace flotilla::dispatch
