// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

namespace tool {

/// Examines the machine, its drivers and devices, and the settings in environment variables. Prints
/// each finding with advice.
/// @return false if a finding has the grade `broken`.
bool print_doctor(std::ostream& out, std::string const& specification, bool json);

}  // namespace tool
