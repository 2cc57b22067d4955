#pragma once
// Sets of multiprocessors in the form that the API passes them: a CUdevResource stores the set in
// its private part, and green contexts are made from descriptions of one or more resources.

#include <cuda.h>

#include "cpu_driver/properties/multiprocessors.hpp"

namespace flotilla::cpu_driver {

/// The resource of a device, a context or a green context. It can be split.
[[nodiscard]] CUdevResource resource_of(int device, multiprocessor_set const& which) noexcept;

/// The arguments of a split. The pointers are the caller's.
struct split_request {
  CUdevResource* result;  // null: only count the possible groups
  unsigned* groups;       // in: size of `result`; out: number of groups
  CUdevResource const* input;
  CUdevResource* remaining;  // may be null
  unsigned flags;
  unsigned min_size;  // multiprocessors of a group
};

/// Writes nothing unless it returns CUDA_SUCCESS. CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION if no
/// group is possible, and for groups of an earlier split.
[[nodiscard]] CUresult split(split_request const& wanted) noexcept;

/// More than one resource must come from one split. Throws std::bad_alloc. Descriptions are never
/// freed, because the API has no call for that.
[[nodiscard]] CUresult describe(CUdevResource const* resources, unsigned count,
                                CUdevResourceDesc& made);

/// False if `handle` is not a description.
[[nodiscard]] bool read_description(CUdevResourceDesc handle, int& device,
                                    multiprocessor_set& which);

}  // namespace flotilla::cpu_driver
