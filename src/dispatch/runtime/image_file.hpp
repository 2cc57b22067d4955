// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recognises files that no driver should load: truncated files, and files with code only for other
// devices.

#include <string>

#include <flotilla/device/device.hpp>

namespace flotilla::dispatch {

/// Returns a text for an error message if `file` has code only for devices of another kind than
/// `kind`. Otherwise returns an empty text.
[[nodiscard]] std::string why_no_code_for(device_kind kind, std::string const& file);

/// Returns a text for an error message if `file` is a fatbin or an ELF file and has fewer bytes
/// than its header says. Otherwise returns an empty text. Call it before the driver loads the file:
/// an H200's driver (580) reads beyond the end of a truncated fatbin, and then sometimes never
/// returns.
[[nodiscard]] std::string why_truncated(std::string const& file);

}  // namespace flotilla::dispatch
