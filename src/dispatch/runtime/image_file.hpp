// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recognises files that have code only for other devices.

#include <string>

#include <flotilla/device/device.hpp>

namespace flotilla::dispatch {

/// Returns a text for an error message if `file` has code only for devices of another kind than
/// `kind`. Otherwise returns an empty text.
[[nodiscard]] std::string why_no_code_for(device_kind kind, std::string const& file);

}  // namespace flotilla::dispatch
