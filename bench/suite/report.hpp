#pragma once
// What a run says: a table for people, and JSON for programs.

#include <iosfwd>
#include <string>
#include <vector>

#include "row.hpp"

namespace flotilla::bench {

class suite;

void print_table(std::ostream& out, std::vector<row_result> const& rows);

/// @param command  How the program was called.
/// @throws std::runtime_error  The file cannot be written; names it.
void write_json(std::string const& file, suite const& of, std::string const& command);

/// What it was measured on, as lines of (key, value).
[[nodiscard]] std::vector<std::pair<std::string, std::string>> circumstances();

}  // namespace flotilla::bench
