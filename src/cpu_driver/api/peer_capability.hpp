// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which devices can access the memory of which others.

#include <cuda.h>

#include "cpu_driver/fault/injection.hpp"
#include "cpu_driver/memory/memory_pool.hpp"

namespace flotilla::cpu_driver {

/// Whether device `from` can get access to the memory of `to`, another device. All memory is host
/// memory, so this is true unless an injection rule separates the devices.
[[nodiscard]] inline bool are_peers(int from, int to) noexcept {
  return from != to && !(injection::armed() && injection::are_separated(from, to));
}

/// Returns the access of a device to the memory of a pool.
[[nodiscard]] inline CUmemAccess_flags access_to(memory_pool const& pool, int device) noexcept {
  return device == pool.home() || are_peers(device, pool.home()) ? pool.access_of(device)
                                                                 : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

}  // namespace flotilla::cpu_driver
