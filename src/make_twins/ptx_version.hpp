// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The version of the PTX language that a module names.

#include <string_view>

#include "make_twins/ptx_module.hpp"

namespace flotilla::make_twins {

/// nvcc and NVRTC write their newest version of the language into each module, and an older driver
/// refuses the module even if nothing in it is new. Returns 9.0, the version of CUDA 13.0, if the
/// module names a later one, and if every directive, instruction, modifier and register of the
/// module is known to be as old as that. Otherwise returns the version that the module names.
[[nodiscard]] std::string_view oldest_version(ptx_module const& in);

}  // namespace flotilla::make_twins
