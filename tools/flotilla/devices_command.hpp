#pragma once

#include <iosfwd>
#include <string>

namespace tool {

/// Prints the drivers, the chosen devices, and the requested and granted settings of these devices.
/// Creates a context on each of the devices.
/// @param specification  Chooses the devices. If it is empty, the environment variable
///                       FLOTILLA_DEVICES chooses them; its default is "auto".
/// @param best_effort    If true, a refused setting is reported and is not a failure.
void print_devices(std::ostream& out, std::string const& specification, bool json,
                   bool best_effort);

}  // namespace tool
