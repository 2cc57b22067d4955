#pragma once
// A launch on the calling thread: what may be launched, where, with which arguments.

#include <cuda.h>

#include <flotilla/cpu_image.hpp>

#include "cpu_driver/driver_state.hpp"

namespace flotilla::cpu_driver {

struct launch_request {
  CUfunction what;  // a function, or a kernel cast to one
  cpu::index3 grid_size;
  cpu::index3 block_size;
  std::uint32_t dynamic_shared_bytes;
  void** parameters;  // addresses of the arguments; or null
  void** extra;       // the arguments packed, as CU_LAUNCH_PARAM_* describe; or null
};

/// The function that `handle` means in `owner`: itself, or a kernel's function there.
/// CUDA_ERROR_INVALID_HANDLE for what is neither, or belongs to another context.
[[nodiscard]] CUresult find_function(CUfunction handle, context& owner,
                                     driver_state::function_table::ref& found);

/// That function where this thread found it before; empty where not, or where it has gone.
[[nodiscard]] driver_state::function_table::ref remembered_function(CUkernel kernel,
                                                                    CUcontext owner) noexcept;

/// What packing needs to know.
struct checked_launch {
  void const* packed = nullptr;  // in the caller's memory; null: one address an argument
  std::size_t bytes = 0;         // of all arguments, packed
};

/// Shape, shared memory and arguments as `what` allows them. Allocates nothing, changes nothing.
[[nodiscard]] CUresult check_launch(launch_request const& wanted, function const& what,
                                    checked_launch& checked) noexcept;

/// Copies the arguments of a launch that check_launch() found good: `checked.bytes` to `to`.
void pack_arguments(std::byte* to, launch_request const& wanted, cpu::kernel_record const& kernel,
                    checked_launch const& checked) noexcept;

/// Checks everything and enqueues. Nothing is enqueued unless CUDA_SUCCESS.
[[nodiscard]] CUresult launch(stream& where, launch_request const& wanted);

}  // namespace flotilla::cpu_driver
