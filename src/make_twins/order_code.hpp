// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The instructions with which a block of an ordered twin takes its ticket, waits for the launches
/// before its own, and tells others that it has ended (flotilla/detail/ordered_twin.hpp).

#include <string>
#include <string_view>

#include "make_twins/prologue.hpp"

namespace flotilla::make_twins {

/// The label to which a thread of an ordered twin goes where a thread of the kernel returns.
inline constexpr std::string_view end_label = "$flotilla_end";

/// The shared memory that an ordered twin needs in addition to the kernel, in bytes. It keeps the
/// alignment of the kernel's dynamic shared memory.
inline constexpr unsigned order_shared_bytes = 128;

/// Returns the first instructions of an ordered twin. They set the registers for `used`, and end
/// when all launches before the block's own have ended.
[[nodiscard]] std::string write_ordered_prologue(std::string_view twin, launch_values const& used);

/// Returns the last instructions of an ordered twin, with their label.
[[nodiscard]] std::string write_ordered_epilogue(std::string_view twin);

}  // namespace flotilla::make_twins
