// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

namespace tool {

/// Prints the drivers, the chosen devices, and the requested and granted settings of these devices.
/// Creates a context on each of the devices.
/// @param specification  Chooses the devices. If it is empty, the environment variable
///                       FLOTILLA_DEVICES chooses the devices. If that variable is not set, the
///                       choice is "auto".
/// @param best_effort    If true, a refused setting is only reported. If false, it is an error.
void print_devices(std::ostream& out, std::string const& specification, bool json,
                   bool best_effort);

}  // namespace tool
