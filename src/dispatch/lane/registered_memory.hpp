#pragma once
// Host memory that a device reads and writes as well.

#include <cuda.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "context/floating_context.hpp"

namespace flotilla::dispatch {

/// The memory is ours and only registered with the driver: it can be read when the context is gone.
class mapped_memory {
 public:
  /// Zeros. With the context current. @throws driver_error, std::bad_alloc
  mapped_memory(context::floating_context const& context, std::size_t bytes);
  mapped_memory(mapped_memory&&) = delete;
  /// With the context current, when no device uses it any more. What lies there stays.
  void unregister() noexcept;

  [[nodiscard]] std::byte* host() const noexcept { return host_.get(); }
  [[nodiscard]] CUdeviceptr device() const noexcept { return device_; }

 private:
  struct free_memory {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  context::floating_context const& context_;
  std::unique_ptr<std::byte, free_memory> host_;
  bool registered_ = false;
  CUdeviceptr device_ = 0;
};

}  // namespace flotilla::dispatch
