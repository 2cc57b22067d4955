// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Describes a launch that the driver has refused, for an error message.

#include <cuda.h>

#include <string>

#include "context/context_handle.hpp"
#include "dispatch/task/slot.hpp"
#include "dispatch/task/slot_side.hpp"

namespace flotilla::dispatch {

/// Returns the shape and the attributes of the launch, and the limits of the kernel on the device.
/// Leaves out the limits that the driver does not tell. The context must be current.
[[nodiscard]] std::string launch_text(context::context_handle const& context, CUfunction kernel,
                                      slot const& task, slot_side const& side);

}  // namespace flotilla::dispatch
