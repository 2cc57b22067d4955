#pragma once

#include <iosfwd>
#include <string>

namespace tool {

/// Prints which drivers there are, the devices that `specification` picks (empty: the environment's
/// FLOTILLA_DEVICES, else "auto"), and the settings requested and granted. Makes a context on each of them.
/// @param best_effort  As runtime_options has it: what is refused is reported, and is no failure.
void print_devices(std::ostream& out, std::string const& specification, bool json, bool best_effort);

}  // namespace tool
