// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output of a run: a table and a JSON file.

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "row.hpp"

namespace flotilla::bench {

class bench_suite;

/// Prints for each row whether it works, and no figures.
void print_check(std::ostream& out, std::vector<row_result> const& rows);
void print_table(std::ostream& out, std::vector<row_result> const& rows);

/// @param command  The command line of this run.
/// @throws std::runtime_error  The file cannot be written. The message names the file.
void write_json(std::string const& file, bench_suite const& suite, std::string const& command);

/// Describes the machine and the build as pairs of key and value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> run_context();

}  // namespace flotilla::bench
