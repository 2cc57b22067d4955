#pragma once
// Parts of a device, for the sections that make some.
#include <cuda.h>

namespace transcript {

inline constexpr CUdevResourceType sm = CU_DEV_RESOURCE_TYPE_SM;

/// All multiprocessors of device 0.
[[nodiscard]] CUdevResource whole_device();
/// Splits, and says into how many of which size.
void split(char const* what, CUdevResource const& input, unsigned groups, unsigned flags,
           unsigned least);

}  // namespace transcript
