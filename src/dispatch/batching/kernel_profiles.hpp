// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The profiles of all kernels on one device.

#include <chrono>
#include <cstdint>
#include <vector>

#include "dispatch/batching/kernel_profile.hpp"
#include "dispatch/graph/copy_kernels.hpp"
#include "dispatch/graph/kernel_table.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease.
class kernel_profiles {
 public:
  /// @param kernel_ns  If not 0, all kernels run for so long, and none is measured.
  kernel_profiles(kernel_table const& kernels, unsigned device, float kernel_ns)
      : kernels_(kernels), device_(device), profiles_(builtin_index::count) {
    if (kernel_ns != 0) { first_.fix(kernel_ns, shape_for(kernel_ns)); }
    for (kernel_profile& of_copies : profiles_) {
      float const copy_ns = copy_kernels::length_ns(0);
      batch_shape shape = shape_for(copy_ns);
      shape.lanes = copy_kernels::lanes;
      of_copies.fix(copy_ns, shape);
    }
  }

  /// Returns the profile of a kernel, by its index in the kernel table.
  [[nodiscard]] kernel_profile& of(std::uint32_t kernel) {
    if (kernel >= profiles_.size()) { profiles_.resize(kernels_.kernels.size(), first_); }
    return profiles_[kernel];
  }
  /// Stores when the kernel was last launched, for the report of a fault.
  void note_launched(std::uint32_t kernel, std::chrono::steady_clock::time_point when) {
    if (builtin_index::contains(kernel)) { return; }
    kernels_.kernels[kernel].launched[device_].store(when.time_since_epoch().count(),
                                                     std::memory_order_relaxed);
  }
  /// Makes the estimate of the kernel's duration known to the threads that submit.
  void publish(std::uint32_t kernel) {
    kernels_.kernels[kernel].durations[device_].store(of(kernel).kernel_ns(),
                                                      std::memory_order_relaxed);
  }

 private:
  kernel_table const& kernels_;
  unsigned const device_;
  kernel_profile first_;  // of a kernel that was not launched
  std::vector<kernel_profile> profiles_;
};

}  // namespace flotilla::dispatch
