#pragma once
// Mapped memory in pieces.

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "context/floating_context.hpp"
#include "dispatch/mapped_memory.hpp"

namespace flotilla::dispatch {

/// To register memory with the driver takes 0.1 to 0.7 ms while a device is at work, so pieces are cut from slabs, the first of
/// which is there before anything runs.
///
/// Only the holder of the device's lease, with the context current where a slab is made.
class mapped_slabs {
 public:
  /// On a line; a power of two.
  struct piece {
    std::byte* host = nullptr;
    CUdeviceptr device = 0;
    std::size_t bytes = 0;
  };
  explicit mapped_slabs(context::floating_context const& context) noexcept : context_(context) {}

  /// Has the first slab. @throws driver_error, std::bad_alloc
  void begin();
  /// Zeros. @throws driver_error, std::bad_alloc
  [[nodiscard]] piece take(std::size_t bytes);
  /// When no device uses it any more.
  void give_back(piece const& of) noexcept;
  /// Unregisters all. Pieces that are still taken can be given back.
  void destroy() noexcept;

  static constexpr std::size_t slab_bytes = std::size_t{1} << 20;

 private:
  mapped_memory& add_slab(std::size_t bytes);

  context::floating_context const& context_;
  std::vector<std::unique_ptr<mapped_memory>> slabs_;
  mapped_memory* current_ = nullptr;  // what pieces are cut from
  std::size_t used_ = 0;              // of that
  std::vector<piece> free_;           // with room for all that were cut
  std::size_t cut_ = 0;
};

}  // namespace flotilla::dispatch
