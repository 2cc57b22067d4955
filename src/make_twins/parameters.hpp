// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the parameters of a kernel, and computes the layout of its parameter buffer.

#include <span>
#include <vector>

#include "make_twins/ptx_module.hpp"

namespace flotilla::make_twins {

/// Returns the parameters that `tokens`, the tokens between the parentheses of a kernel, declare.
/// @throws malformed_ptx  A declaration has an unknown type, or no name.
[[nodiscard]] std::vector<parameter> parse_parameters(std::span<token const> tokens);

}  // namespace flotilla::make_twins
