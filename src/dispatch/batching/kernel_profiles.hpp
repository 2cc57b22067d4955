// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The profiles of all kernels on one device.

#include <cstdint>
#include <vector>

#include "dispatch/batching/kernel_profile.hpp"
#include "dispatch/graph/kernel_table.hpp"

namespace flotilla::dispatch {

/// Threads: only the holder of the device's lease.
class kernel_profiles {
 public:
  explicit kernel_profiles(kernel_table const& kernels) : kernels_(kernels) {}

  /// Returns the profile of a kernel, by its index in the kernel table.
  [[nodiscard]] kernel_profile& of(std::uint32_t kernel) {
    if (kernel >= profiles_.size()) { profiles_.resize(kernels_.kernels.size()); }
    return profiles_[kernel];
  }

 private:
  kernel_table const& kernels_;
  std::vector<kernel_profile> profiles_;
};

}  // namespace flotilla::dispatch
