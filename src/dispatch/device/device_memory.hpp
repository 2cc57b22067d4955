// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of buffers on one device.

#include <cuda.h>

#include <cstddef>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// Allocates and frees memory of a device in a stream of its own, the memory stream. It holds no
/// tasks, so whoever waits for it does not wait for tasks.
///
/// Threads: only the holder of the device's lease, with the context current.
class device_memory {
 public:
  explicit device_memory(context::context_handle const& context) noexcept : context_(context) {}
  /// Creates the stream. @throws driver_error
  void create();
  void destroy() noexcept;

  /// Allocates memory, and waits until the device has it.
  [[nodiscard]] CUresult allocate(std::size_t bytes, CUdeviceptr& address);
  /// Frees memory that `allocate` has allocated. Unlike cuMemFree, it does not wait until the
  /// device is idle.
  [[nodiscard]] CUresult free(CUdeviceptr address, std::size_t bytes);
  /// Returns the size of the memory that was allocated and not freed, in bytes.
  [[nodiscard]] std::size_t held() const noexcept { return held_; }
  [[nodiscard]] CUstream stream() const noexcept { return stream_; }

 private:
  context::context_handle const& context_;
  CUstream stream_ = nullptr;
  std::size_t held_ = 0;
};

}  // namespace flotilla::dispatch
