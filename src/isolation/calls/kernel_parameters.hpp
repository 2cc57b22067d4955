// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parameters of a kernel, written into a request.

#include <cuda.h>

#include <cstdint>

#include "isolation/channel/message.hpp"
#include "isolation/owner/isolated_device.hpp"
#include "isolation/owner/session.hpp"
#include "isolation/protocol/kernel_launch.hpp"

namespace flotilla::isolated {

/// The sizes of the parameters of a function, in bytes. Asks the worker once for each function.
/// The reference is valid until the function ends.
[[nodiscard]] CUresult parameters_of(isolated_device& on, CUfunction function,
                                     std::vector<std::uint32_t> const*& sizes);

/// Appends the values to which `values` points. @param sizes  Of the parameters, in bytes.
void put_parameters(message_writer& to, std::vector<std::uint32_t> const& sizes,
                    void* const* values);

/// Checks a function of a launch. A kernel may be passed as a function.
[[nodiscard]] CUresult check_function(isolated_device& on, CUfunction function);

}  // namespace flotilla::isolated
