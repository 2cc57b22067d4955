// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides which kernels can have a twin.

#include <string>

#include "make_twins/ptx_module.hpp"

namespace flotilla::make_twins {

/// Returns why `kernel` cannot have a twin, as words that continue "no twin, because". An empty
/// text: it can.
[[nodiscard]] std::string why_unsuitable(ptx_module const& in, function const& kernel);

/// Whether the source forbids a twin of `kernel` with FLOTILLA_NO_TWIN.
[[nodiscard]] bool twin_is_unwanted(ptx_module const& in, function const& kernel);

/// Whether `s` copies one of the special registers %ctaid.{x,y,z} and %nctaid.{x,y,z} to another
/// register, such as `mov.u32 %r1, %ctaid.x`. A twin can replace only such statements.
[[nodiscard]] bool copies_block_index(statement const& s);

/// The address of a load from a parameter: `[name]` or `[name+4]`.
struct parameter_address {
  parameter const* of;  ///< null: the statement is not a load from a parameter of the kernel
  std::int64_t offset;  ///< bytes from the start of the parameter
  std::span<token const> tokens;  ///< between the brackets
};

/// Returns the address if `s` is a load that a twin can replace.
[[nodiscard]] parameter_address loaded_parameter(function const& kernel, statement const& s);

}  // namespace flotilla::make_twins
