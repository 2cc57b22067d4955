#pragma once
// The part of a launch that the calling thread does: finds the function, checks shape and
// arguments, enqueues.

#include <cuda.h>

#include <flotilla/kernel_language/image_abi.hpp>

#include "cpu_driver/context/context.hpp"
#include "cpu_driver/module/library.hpp"
#include "cpu_driver/module/module.hpp"

namespace flotilla::cpu_driver {

struct launch_request {
  CUfunction function_handle;  // a function, or a kernel cast to one
  cpu::index3 grid_size;
  cpu::index3 block_size;
  std::uint32_t dynamic_shared_bytes;
  void** parameters;  // addresses of the arguments, or null
  void** extra;       // packed arguments, as a CU_LAUNCH_PARAM_* list, or null
};

/// The function that `handle` means in a context: itself, or a kernel's function there.
/// CUDA_ERROR_INVALID_HANDLE if it is neither, or belongs to another context.
[[nodiscard]] CUresult find_function(CUfunction handle, context_resources const& owner,
                                     function::ref& found);

/// The function of a kernel if this thread has found it before and it still exists; else empty.
[[nodiscard]] function::ref remembered_function(CUkernel kernel, CUcontext owner) noexcept;

/// The input of pack_arguments().
struct checked_launch {
  void const* packed = nullptr;  // in the caller's memory; null if each argument has an address
  std::size_t bytes = 0;         // of all arguments, packed
};

/// Checks shape, shared memory and arguments. Allocates nothing and changes nothing.
[[nodiscard]] CUresult check_launch(launch_request const& wanted, function const& called,
                                    checked_launch& checked) noexcept;

/// Copies the arguments of a launch that has passed check_launch(): `checked.bytes` bytes to `to`.
void pack_arguments(std::byte* to, launch_request const& wanted, cpu::kernel_record const& kernel,
                    checked_launch const& checked) noexcept;

/// Checks the launch and enqueues it. Enqueues nothing unless it returns CUDA_SUCCESS.
[[nodiscard]] CUresult launch(stream& target, launch_request const& wanted);

}  // namespace flotilla::cpu_driver
