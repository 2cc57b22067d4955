// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asks the driver for the properties of a kernel, and compares its parameters with types.

#include <cuda.h>

#include <span>
#include <string>
#include <vector>

#include <flotilla/kernel/kernel.hpp>

#include "dispatch/graph/kernel_table.hpp"
#include "driver/table.hpp"

namespace flotilla::dispatch {

/// A kernel of a library, and its twin.
struct loaded_kernel {
  std::string name;
  CUkernel handle = nullptr;
  CUkernel twin = nullptr;     // null if the library has none
  CUkernel ordered = nullptr;  // the ordered twin; null if the library has none
};

/// Returns the kernels of the library, sorted by their names. The list does not name the twins.
/// @param program    The name of the library's program, for messages.
/// @param use_twins  If false, no kernel gets its twin.
/// @throws driver_error
[[nodiscard]] std::vector<loaded_kernel> kernels_of(driver::table const& api, CUlibrary library,
                                                    std::string const& program, bool use_twins);

/// Returns the entry of a kernel, without its functions. A context must be current.
/// @param program  The name of the kernel's program, for messages.
/// @throws driver_error
[[nodiscard]] kernel_entry query_kernel(driver::table const& api, CUkernel handle,
                                        std::string const& program);

/// Fills in the members that depend on the functions of the kernel and its twin. Removes a twin
/// that needs more local memory than the kernel, because it would be slower. The context of
/// `device` must be current, and the kernel must have a function for this device.
void complete(driver::table const& api, kernel_entry& kernel, unsigned device);

/// @throws invalid_argument  The arguments of the kernel have too many bytes for a launch.
void check_argument_bytes(kernel_entry const& kernel, std::string const& program);

/// @throws invalid_argument  The same, or the parameters of the kernel differ from `layout`.
void check_layout(kernel_entry const& kernel, std::string const& program,
                  std::span<detail::parameter_layout const> layout);

}  // namespace flotilla::dispatch
