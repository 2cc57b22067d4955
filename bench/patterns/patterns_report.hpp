// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output of a run: tables, and a JSON file.

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "patterns_run.hpp"

namespace flotilla::bench {

// With `quick` these functions print only whether each row works, and no figures. They flush
// `out`.
void print_heading(std::ostream& out, std::string const& pattern, std::string const& text,
                   variant_set const& variants, bool quick);
void print_cell(std::ostream& out, cell const& cell, bool quick);
void print_metg(std::ostream& out, metg_result const& metg, bool quick);

/// @param context  Describes the machine, the build and the command as pairs of key and value.
/// @throws std::runtime_error  The file cannot be written. The message names the file.
void write_patterns_json(std::string const& file,
                         std::vector<std::pair<std::string, std::string>> const& context,
                         patterns_options const& options, patterns_results const& results);

}  // namespace flotilla::bench
