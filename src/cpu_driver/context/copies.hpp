#pragma once
// Copies and fills, for all their entry points: which addresses are allowed, and what waits for
// what.

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace flotilla::cpu_driver {

class stream_group;
class stream;

/// One end of a copy. A `device` end must lie in memory that the driver has allocated, a `host` end
/// may be any memory, and an `either` end may be both, as unified addressing allows.
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

/// CUDA_SUCCESS if these bytes may be copied, else the reason.
[[nodiscard]] CUresult check_copy(copy_end to, copy_end from, std::size_t bytes);

/// Copies after everything that the NULL stream of `here` waits for, and returns when done.
[[nodiscard]] CUresult copy_now(stream_group& here, copy_end to, copy_end from, std::size_t bytes);

/// Enqueues a copy. Handles pageable memory as a GPU's driver has to: before it returns, it copies
/// a pageable source aside, and it has written a pageable destination.
[[nodiscard]] CUresult copy_in(stream& target, copy_end to, copy_end from, std::size_t bytes);

struct fill_request {
  CUdeviceptr address;
  std::uint32_t value;
  std::uint8_t width;  // bytes of an element: 1, 2 or 4; the address must be a multiple
  std::size_t elements;
};

/// CUDA_SUCCESS if this memory may be filled, else the reason.
[[nodiscard]] CUresult check_fill(fill_request const& wanted);

/// Fills after everything that the NULL stream of `here` waits for, and returns when done. A GPU's
/// driver may return earlier, but with either the next reader in any context sees the fill.
[[nodiscard]] CUresult fill_now(stream_group& here, fill_request const& wanted);

/// Enqueues a fill.
[[nodiscard]] CUresult fill_in(stream& target, fill_request const& wanted);

}  // namespace flotilla::cpu_driver
