// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asks the driver for the properties of a kernel, and compares its parameters with types.

#include <cuda.h>

#include <span>
#include <string>

#include <flotilla/kernel/kernel.hpp>

#include "dispatch/graph/kernel_table.hpp"
#include "driver/table.hpp"

namespace flotilla::dispatch {

/// Returns the entry of a kernel, without its functions. A context must be current.
/// @param program  The name of the kernel's program, for messages.
/// @throws driver_error
[[nodiscard]] kernel_entry query_kernel(driver::table const& api, CUkernel handle,
                                        std::string const& program);

/// Fills in the members that depend on `kernel.functions`. The context of device 0 must be current.
void complete(driver::table const& api, kernel_entry& kernel);

/// @throws invalid_argument  The arguments of the kernel have too many bytes for a launch.
void check_argument_bytes(kernel_entry const& kernel, std::string const& program);

/// @throws invalid_argument  The same, or the parameters of the kernel differ from `layout`.
void check_layout(kernel_entry const& kernel, std::string const& program,
                  std::span<detail::parameter_layout const> layout);

}  // namespace flotilla::dispatch
