#pragma once

#include <iosfwd>
#include <string>

namespace tool {

/// Prints the drivers, the devices that `specification` chooses (empty: the environment's
/// FLOTILLA_DEVICES, else "auto"), and their settings, requested and granted. Makes a context on
/// each of these devices.
/// @param best_effort  As in runtime_options: refused settings are reported and are no failure.
void print_devices(std::ostream& out, std::string const& specification, bool json,
                   bool best_effort);

}  // namespace tool
