// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies and fills. Checks whether the addresses are allowed, and waits where CUDA requires a wait.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace flotilla::cpu_driver {

class stream_group;
class stream;

/// The source or the destination of a copy. A `device` address must lie in memory that the driver
/// knows. A `host` address may lie in any memory. An `either` address may be a device address or a
/// host address, as with unified addressing.
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

/// Returns CUDA_SUCCESS if the copy is allowed, and an error otherwise.
[[nodiscard]] CUresult check_copy(copy_end to, copy_end from, std::size_t bytes);

/// Copies in the order of the NULL stream of `here`. Returns after the copy has ended.
[[nodiscard]] CUresult copy_now(stream_group& here, copy_end to, copy_end from, std::size_t bytes);

/// Enqueues a copy. Treats pageable memory as a GPU's driver does. When this function has returned,
/// the caller may overwrite a pageable source, and a pageable destination is complete.
[[nodiscard]] CUresult copy_in(stream& target, copy_end to, copy_end from, std::size_t bytes);

struct copy_batch {
  std::span<CUdeviceptr const> to;
  std::span<CUdeviceptr const> from;
  std::span<std::size_t const> bytes;  // as many as `to` and `from`
};

/// Enqueues the copies, or none of them if one is not allowed. Each address may be a device address
/// or a host address.
[[nodiscard]] CUresult copy_all_in(stream& target, copy_batch const& batch);

struct fill_request {
  CUdeviceptr address;
  std::uint32_t value;
  std::uint8_t width;  // bytes per element: 1, 2 or 4; `address` must be a multiple of `width`
  std::size_t elements;
};

/// Returns CUDA_SUCCESS if the fill is allowed, and an error otherwise.
[[nodiscard]] CUresult check_fill(fill_request const& wanted);

/// Fills in the order of the NULL stream of `here`. Returns after the fill has ended. A GPU's
/// driver may return earlier.
[[nodiscard]] CUresult fill_now(stream_group& here, fill_request const& wanted);

/// Enqueues a fill.
[[nodiscard]] CUresult fill_in(stream& target, fill_request const& wanted);

}  // namespace flotilla::cpu_driver
