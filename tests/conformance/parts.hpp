// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for the sections that split a device into parts.
#include <cuda.h>

namespace transcript {

inline constexpr CUdevResourceType sm = CU_DEV_RESOURCE_TYPE_SM;

/// Returns all multiprocessors of device 0.
[[nodiscard]] CUdevResource whole_device();
/// Splits a resource and writes a line with the number and the size of the groups.
void split(char const* what, CUdevResource const& input, unsigned groups, unsigned flags,
           unsigned least);

}  // namespace transcript
