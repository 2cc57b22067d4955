// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What calls about different objects do with the memory of a device.

#include <cuda.h>

#include <cstdint>

#include "isolation/owner/isolated_device.hpp"

namespace flotilla::isolated {

/// Frees all memory of a context. Call it with the lock of the device.
void free_memory_of(isolated_device& on, std::uint32_t context);

}  // namespace flotilla::isolated
