#pragma once

#include <iosfwd>
#include <string>

namespace tool {

/// Looks at drivers, devices, and what the environment asks for, and prints each finding with what to do about it.
/// @return whether nothing is broken.
bool print_doctor(std::ostream& out, std::string const& specification, bool json);

}  // namespace tool
