// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access of contexts without flotilla's runtime to each other's memory.

#include <cuda.h>

#include <array>
#include <string>

namespace flotilla::bench {

/// Returns the reason why the first two devices of the machine cannot access each other's memory,
/// or an empty text.
[[nodiscard]] std::string why_no_peers();

/// Gives each of two contexts, which belong to the first two devices of the machine, access to the
/// `cuMemAlloc` memory of the other one. A second call for the same contexts does nothing.
/// @throws driver_error
void enable_peers(std::array<CUcontext, 2> const& contexts);

}  // namespace flotilla::bench
