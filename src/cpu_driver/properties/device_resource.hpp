// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resources for green contexts. A CUdevResource is a set of multiprocessors, which is stored in the
// struct's private part. A description (CUdevResourceDesc) combines one or more resources. A green
// context is created from a description.

#include <cuda.h>

#include "cpu_driver/properties/multiprocessors.hpp"

namespace flotilla::cpu_driver {

/// Returns a resource with the multiprocessors `which`, for a device, a context or a green context.
/// The resource can be split.
[[nodiscard]] CUdevResource resource_of(int device, multiprocessor_set const& which) noexcept;

/// The arguments of split(). All pointers point to the caller's memory.
struct split_request {
  CUdevResource* result;  // array of groups; if null, split() only counts the possible groups
  unsigned* groups;       // in: size of `result`; out: number of groups
  CUdevResource const* input;
  CUdevResource* remaining;  // may be null
  unsigned flags;
  unsigned min_size;  // minimum number of multiprocessors in a group
};

/// Splits a resource into groups. Writes nothing if it returns an error. Returns
/// CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION if no group is possible, or if the input is a group of
/// an earlier split.
[[nodiscard]] CUresult split(split_request const& wanted) noexcept;

/// Makes a description of one or more resources. Several resources must all come from one call of
/// split(). Throws std::bad_alloc. Descriptions are never freed, because the API has no function
/// that frees them.
[[nodiscard]] CUresult describe(CUdevResource const* resources, unsigned count,
                                CUdevResourceDesc& made);

/// Returns false if `handle` is not a description.
[[nodiscard]] bool read_description(CUdevResourceDesc handle, int& device,
                                    multiprocessor_set& which);

}  // namespace flotilla::cpu_driver
