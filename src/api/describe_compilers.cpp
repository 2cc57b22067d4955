// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>

#include <flotilla/error/error.hpp>
#include <flotilla/kernel/compiler_report.hpp>

#include "compiler/checked_options.hpp"
#include "compiler/child_process.hpp"
#include "compiler/disk_cache.hpp"
#include "compiler/host_compiler.hpp"
#include "compiler/nvrtc_library.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

/// The first line that a compiler prints with --version.
std::string version_of(std::string const& compiler) {
  auto const until = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  compiler::child_result const said = compiler::run_program({compiler, "--version"}, until);
  if (!said.succeeded) { return "does not print its version"; }
  return said.output.substr(0, said.output.find('\n'));
}

}  // namespace

compiler_report describe_compilers(compile_options const& options) {
  compile_options const checked = compiler::checked_options(options);
  compiler_report made;
  try {
    std::string const path = compiler::find_host_compiler(checked).path;
    made.cpu_text = path + ", " + version_of(path);
    made.has_cpu_compiler = true;
  } catch (error const& why) { made.cpu_text = why.what(); }
  try {
    compiler::nvrtc_library const& found = compiler::open_nvrtc(checked);
    made.nvrtc_text = found.file.path + ", version " + std::to_string(found.major) + "." +
                      std::to_string(found.minor);
    made.has_nvrtc = true;
  } catch (no_compiler const& why) { made.nvrtc_text = why.what(); }
  compiler::disk_cache const cache{checked, log_level::debug};  // the report says it
  made.has_cache = cache.is_writable();
  if (made.has_cache) {
    compiler::disk_cache::contents const contents = cache.count();
    made.cache_directory = cache.path();
    made.cache_entries = contents.entries;
    made.cache_bytes = contents.bytes;
  } else if (cache.is_usable()) {
    made.cache_text = "the folder " + cache.path() + " cannot be written";
  } else if (!cache.why_not().empty()) {
    made.cache_text = cache.why_not();
  } else {
    made.cache_text = checked.cache ? "programs with raised privileges have no default cache"
                                    : "compile_options::cache is false";
  }
  return made;
}

}  // namespace v0_1
}  // namespace flotilla
