// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The blocks of device memory that the owner has made and this worker has mapped.

#include <cuda.h>

#include <set>
#include <string>

#include "driver/table.hpp"

namespace flotilla::isolated {

/// Not thread-safe.
class device_mappings {
 public:
  device_mappings(driver::table const& api, int device) noexcept : api_(api), device_(device) {}

  /// Reserves the addresses of the device. Call it once.
  /// @return an empty text, or why the device cannot be isolated
  [[nodiscard]] std::string reserve();
  [[nodiscard]] CUresult map(CUdeviceptr address, std::size_t bytes, int passed);
  /// @return CUDA_SUCCESS  Nothing is mapped at the address, or not any more.
  [[nodiscard]] CUresult unmap(CUdeviceptr address, std::size_t bytes);

 private:
  driver::table const& api_;
  int device_;
  std::set<CUdeviceptr> mapped_;  // the addresses of the blocks
};

}  // namespace flotilla::isolated
