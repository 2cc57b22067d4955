// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of a launch that runs on the calling thread. It finds the function, checks the grid, the
// block and the arguments, and enqueues the operation.

#include <cuda.h>

#include <flotilla/kernel_language/image_abi.hpp>

#include "cpu_driver/context/context.hpp"
#include "cpu_driver/module/library.hpp"
#include "cpu_driver/module/module.hpp"

namespace flotilla::cpu_driver {

struct launch_request {
  CUfunction function_handle;  // a CUfunction, or a CUkernel cast to CUfunction
  cpu::index3 grid_size;
  cpu::index3 block_size;
  std::uint32_t dynamic_shared_bytes;
  void** parameters;  // addresses of the arguments; may be null
  void** extra;       // CU_LAUNCH_PARAM_* list that describes packed arguments; may be null
};

/// Finds the function for `handle` in the context `owner`. If `handle` is a CUkernel, this is the
/// kernel's function in that context. Returns CUDA_ERROR_INVALID_HANDLE if `handle` is neither a
/// CUkernel nor a CUfunction of that context.
[[nodiscard]] CUresult find_function(CUfunction handle, context_resources const& owner,
                                     function::ref& found);

/// Returns the function of a kernel from this thread's cache. Returns an empty reference if the
/// cache has no entry or if the function no longer exists.
[[nodiscard]] function::ref remembered_function(CUkernel kernel, CUcontext owner) noexcept;

/// The result of check_launch(), which pack_arguments() needs.
struct checked_launch {
  void const* packed = nullptr;  // arguments in the caller's memory; null if `parameters` is used
  std::size_t bytes = 0;         // size of the packed arguments
};

/// Checks the grid, the block, the shared memory and the arguments of a launch. Does not allocate.
[[nodiscard]] CUresult check_launch(launch_request const& wanted, function const& called,
                                    checked_launch& checked) noexcept;

/// Copies the arguments of a launch to `to`, which must have room for `checked.bytes` bytes.
/// `checked` must come from a successful check_launch().
void pack_arguments(std::byte* to, launch_request const& wanted, cpu::kernel_record const& kernel,
                    checked_launch const& checked) noexcept;

/// Checks the launch and enqueues it. If the launch was not enqueued, returns an error or throws
/// std::bad_alloc.
[[nodiscard]] CUresult launch(stream& target, launch_request const& wanted);

}  // namespace flotilla::cpu_driver
