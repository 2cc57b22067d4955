// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the driver must be told about launches with attributes or with much shared memory.

#include <cuda.h>

#include <cstdint>

#include <flotilla/kernel/launch_shape.hpp>

#include "dispatch/graph/kernel_table.hpp"
#include "driver/table.hpp"

namespace flotilla::dispatch {

/// Raises the limit of dynamic shared memory of the kernel and of its twin on the device to at
/// least `bytes`. The driver's default is 48 KiB minus the static shared memory. If the driver
/// refuses, the limit stays as it was, and the driver will refuse the launch. Only for the holder
/// of the device's lease, with the context current.
void allow_shared_bytes(driver::table const& api, kernel_entry const& kernel, unsigned device,
                        std::uint32_t bytes) noexcept;

/// Launches one kernel with attributes. The context must be current.
[[nodiscard]] CUresult launch_with_attributes(driver::table const& api, CUstream stream,
                                              CUDA_KERNEL_NODE_PARAMS const& what,
                                              launch_attributes const& attributes) noexcept;

}  // namespace flotilla::dispatch
