#pragma once
// Copies and fills, as all their entry points share them: which addresses are allowed, what waits
// for what.

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace flotilla::cpu_driver {

class stream_group;
class stream;

/// One end of a copy. `device` ends must lie in memory that the driver has given out, `host` ends
/// may be any memory, `either` is what unified addressing leaves open.
struct copy_end {
  enum class kind { device, host, either };
  kind what;
  CUdeviceptr address;

  static copy_end device(CUdeviceptr address) noexcept { return {kind::device, address}; }
  static copy_end host(void const* address) noexcept {
    return {kind::host, reinterpret_cast<CUdeviceptr>(address)};
  }
  static copy_end either(CUdeviceptr address) noexcept { return {kind::either, address}; }
};

/// Whether these bytes may be copied: CUDA_SUCCESS, or why not.
[[nodiscard]] CUresult check_copy(copy_end to, copy_end from, std::size_t bytes);

/// Copies behind what the NULL stream of `here` waits for, and returns when done.
[[nodiscard]] CUresult copy_now(stream_group& here, copy_end to, copy_end from, std::size_t bytes);

/// Copies when the stream gets there. Pageable memory is treated as a GPU's driver must treat it: a
/// source is copied aside before this returns, a destination has been written when this returns.
[[nodiscard]] CUresult copy_in(stream& where, copy_end to, copy_end from, std::size_t bytes);

struct fill_request {
  CUdeviceptr address;
  std::uint32_t value;
  std::uint8_t width;  // bytes an element: 1, 2 or 4; the address must be a multiple
  std::size_t elements;
};

/// Whether this may be filled: CUDA_SUCCESS, or why not.
[[nodiscard]] CUresult check_fill(fill_request const& wanted);

/// Fills behind what the NULL stream of `here` waits for, and returns when done: a GPU's driver
/// may return earlier, but what another context reads next is there with either.
[[nodiscard]] CUresult fill_now(stream_group& here, fill_request const& wanted);

/// Fills when the stream gets there.
[[nodiscard]] CUresult fill_in(stream& where, fill_request const& wanted);

}  // namespace flotilla::cpu_driver
