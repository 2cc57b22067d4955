#pragma once

#include <iosfwd>
#include <string>

namespace tool {

/// Examines the machine, its drivers and devices, and the settings of the environment. Prints each
/// finding with advice.
/// @return whether nothing is broken.
bool print_doctor(std::ostream& out, std::string const& specification, bool json);

}  // namespace tool
