// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output of a run: tables, and a JSON file.

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "patterns_options.hpp"
#include "patterns_results.hpp"
#include "verdict.hpp"

namespace flotilla::bench {

// With `quick` these functions print only whether each row works, and no figures. They flush
// `out`.
void print_heading(std::ostream& out, std::string const& pattern, std::string const& text,
                   std::vector<variant_set::member const*> const& variants, bool quick);
/// @param on_gpus  Whether to say if the cell meets the target of `by_hand`, which is for GPUs.
void print_cell(std::ostream& out, cell const& cell, bool quick, bool on_gpus);
void print_metg(std::ostream& out, metg_result const& metg, bool quick);

void print_verdicts(std::ostream& out, std::vector<verdict> const& verdicts, bool on_gpus);

/// @param context  Describes the machine, the build and the command as pairs of key and value.
/// @throws std::runtime_error  The file cannot be written. The message names the file.
void write_patterns_json(std::string const& file,
                         std::vector<std::pair<std::string, std::string>> const& context,
                         patterns_options const& options, patterns_results const& results,
                         bool on_gpus);

}  // namespace flotilla::bench
