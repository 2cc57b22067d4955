#pragma once
// Multiprocessors as the API hands them round: CUdevResource values, which say in their private part
// which ones they are, and descriptions made of some of them, of which green contexts are made.

#include <cuda.h>

#include "cpu_driver/multiprocessors.hpp"

namespace flotilla::cpu_driver {

/// Multiprocessors that a device, a context or a green context has: they can be split.
[[nodiscard]] CUdevResource resource_of(int device, multiprocessor_set const& which) noexcept;

/// What a split is asked for; the pointers are the caller's.
struct split_request {
  CUdevResource* result;  // null: only asks how many groups there would be
  unsigned* groups;       // in: room in `result`; out: groups made
  CUdevResource const* input;
  CUdevResource* remaining;  // may be null
  unsigned flags;
  unsigned least;  // multiprocessors of a group
};

/// Nothing is written unless CUDA_SUCCESS. CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION where no group
/// can be made, and for groups of an earlier split.
[[nodiscard]] CUresult split(split_request const& wanted) noexcept;

/// Several must be groups, or the remainder, of one split. Throws std::bad_alloc. Descriptions are
/// never given back: the API has no way to.
[[nodiscard]] CUresult describe(CUdevResource const* resources, unsigned count,
                                CUdevResourceDesc& made);

/// False for what is no description.
[[nodiscard]] bool read_description(CUdevResourceDesc handle, int& device, multiprocessor_set& which);

}  // namespace flotilla::cpu_driver
