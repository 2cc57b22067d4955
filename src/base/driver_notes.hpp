// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the driver itself says of failed calls, for the texts of driver_error.

#include <string>

namespace flotilla::base {

/// Returns what the driver has noted since the last call; empty if nothing.
using driver_notes = std::string (*)();

/// From now on, the texts of driver_error end with the notes. Null: they do not. Threads: any.
void set_driver_notes(driver_notes take) noexcept;

/// Returns the notes as the end of a text, such as "; the driver's log: …", and before them what
/// the CPU driver has noted on this thread (note_refusal). Empty without notes.
/// @param status  The CUresult of the error.
[[nodiscard]] std::string take_driver_notes(int status);

}  // namespace flotilla::base
