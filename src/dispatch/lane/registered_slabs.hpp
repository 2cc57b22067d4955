#pragma once
// Registered memory in pieces.

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/lane/registered_memory.hpp"

namespace flotilla::dispatch {

/// Registering memory takes the driver 0.1 to 0.7 ms while a device is at work, so pieces are cut
/// from slabs, and the first slab exists before anything runs.
///
/// Only the holder of the device's lease; with the context current when a slab is made.
class registered_slabs {
 public:
  /// Aligned to a cache line; its size is a power of two.
  struct piece {
    std::byte* host = nullptr;
    CUdeviceptr device = 0;
    std::size_t bytes = 0;
  };
  explicit registered_slabs(context::context_handle const& context) noexcept : context_(context) {}

  /// Makes the first slab. @throws driver_error, std::bad_alloc
  void begin();
  /// All zeros. @throws driver_error, std::bad_alloc
  [[nodiscard]] piece take(std::size_t bytes);
  /// Call it after no device uses the piece any more.
  void give_back(piece const& used) noexcept;
  /// Unregisters all slabs. Pieces may still be given back afterwards.
  void destroy() noexcept;

  static constexpr std::size_t slab_bytes = std::size_t{1} << 20;

 private:
  registered_memory& add_slab(std::size_t bytes);

  context::context_handle const& context_;
  std::vector<std::unique_ptr<registered_memory>> slabs_;
  registered_memory* current_ = nullptr;  // the slab that pieces are cut from
  std::size_t used_ = 0;                  // bytes of it
  std::vector<piece> free_;               // has capacity for all pieces ever cut
  std::size_t cut_ = 0;
};

}  // namespace flotilla::dispatch
