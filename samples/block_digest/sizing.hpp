// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The numbers of threads and batches.

#include <algorithm>
#include <cstddef>
#include <thread>

#include <flotilla/flotilla.hpp>

#include "batch_space.hpp"
#include "verification.hpp"

namespace block_digest {

/// Returns the number of threads that run host tasks: all processors.
[[nodiscard]] inline unsigned host_threads() {
  return std::max(1U, std::thread::hardware_concurrency());
}

/// Returns the default of --readers. One reader copies 5 to 8 GB/s from the page cache, and a GPU
/// takes 50 GB/s over PCIe 5. The other processors launch and verify.
[[nodiscard]] inline unsigned default_readers() { return std::clamp(host_threads() / 2, 1U, 8U); }

/// Returns the number of batches: as many as the devices, the readers and the verifying threads can
/// use at the same time, unless blocks are large.
[[nodiscard]] inline std::size_t batch_count(flotilla::runtime const& rt,
                                             batch_capacity const& capacity, unsigned readers,
                                             verification const& verifies) {
  // README.md estimates that three or four batches keep a GPU busy. The others cover times in which
  // the host does not submit.
  constexpr std::size_t batches_per_gpu = 12;
  constexpr std::size_t batches_per_cpu_device = 4;
  constexpr std::size_t min_batches_per_device = 2;
  // Pinned memory is expensive.
  constexpr std::size_t max_bytes_per_device = std::size_t{128} << 20;

  std::size_t const devices = rt.devices().size();
  bool const is_gpu = rt.devices()[0].kind == flotilla::device_kind::gpu;
  std::size_t const on_host = readers + (verifies.covers_none() ? 1 : host_threads());
  std::size_t const useful =
      devices * (is_gpu ? batches_per_gpu : batches_per_cpu_device) + on_host;
  return std::clamp(devices * max_bytes_per_device / capacity.bytes,
                    devices * min_batches_per_device + 1, useful);
}

}  // namespace block_digest
