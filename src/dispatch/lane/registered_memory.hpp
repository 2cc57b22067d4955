// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Host memory that devices read and write in place.

#include <cuda.h>

#include <cstddef>
#include <memory>

#include "base/mapped_memory.hpp"
#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// Memory that this class allocates and then registers with the driver. The driver does not own the
/// memory, so the memory stays readable after the context is destroyed.
class registered_memory {
 public:
  enum class users {
    device,      // the device of the context, and others of the same driver
    all_devices  // also isolated devices of the same runtime
  };
  /// Allocates memory that is all zeros, and registers it. Call it with the context current.
  /// @throws driver_error, std::bad_alloc
  registered_memory(context::context_handle const& context, std::size_t bytes,
                    users of = users::device);
  registered_memory(registered_memory&&) = delete;
  /// Unregisters the memory. Call it with the context current, when no device uses the memory any
  /// more. The contents stay readable.
  void unregister() noexcept;

  [[nodiscard]] std::byte* host() const noexcept {
    return shared_ != nullptr ? shared_.get() : host_.data();
  }
  [[nodiscard]] CUdeviceptr device() const noexcept { return device_; }

 private:
  context::context_handle const& context_;
  // For isolated devices, whose worker processes have access to this kind of memory only.
  struct shared_deleter {
    driver::device_recovery* from;
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, shared_deleter> shared_{nullptr, {nullptr}};
  base::mapped_memory host_;  // for all other devices
  bool registered_ = false;
  CUdeviceptr device_ = 0;
};

}  // namespace flotilla::dispatch
