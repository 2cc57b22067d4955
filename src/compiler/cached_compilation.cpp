// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/cached_compilation.hpp"

#include <chrono>
#include <optional>
#include <string>

#include <flotilla/version.hpp>

#include "base/log.hpp"
#include "compiler/cpu_compiler.hpp"
#include "compiler/digest.hpp"
#include "compiler/disk_cache.hpp"
#include "compiler/included_files.hpp"
#include "compiler/kernel_headers.hpp"

namespace flotilla::compiler {

namespace {

/// Returns the digest of everything that the result depends on.
template <class Compiler>
std::string key_of(std::string_view source, compile_options const& options,
                   included_files const& included, Compiler const& compiler) {
  key_text key;
  key.add("flotilla", FLOTILLA_VERSION);
  key.add("machine",
#if defined(__x86_64__)
          "x86_64"
#else
          "aarch64"
#endif
  );
  key.add("name", options.name);  // it is in the code: __FILE__, and messages of assert
  key.add_all("expression", options.name_expressions);
  for (kernel_header const& each : kernel_headers()) { key.add(each.name, each.text); }
  compiler.add_to(key);
  for (included_file const& each : included.files) {
    key.add("header", each.name);
    key.add("path", each.path);
    key.add("text", each.text);
  }
  key.add("source", source);
  return key.digest();
}

void log_notes(std::string const& name, compiled_code const& code) {
  for (std::string const& each : code.notes) { base::log(log_level::info, name + ": " + each); }
}

/// @param compile  Called with the cache if it has no result.
template <class Compiler, class Compile>
compiled_code compile_with(Compiler const& compiler, std::string_view source,
                           compile_options const& options, char const* kind,
                           Compile const& compile) {
  included_files const included = find_included_files(source, options.include_directories);
  if (!included.is_complete && options.cache) {
    base::log(log_level::info, options.name +
                                   ": the cache is not used, because the source "
                                   "includes files whose names it computes");
  }
  compile_options with = options;
  with.cache = with.cache && included.is_complete;
  disk_cache const cache{with};
  std::string const key = key_of(source, options, included, compiler);
  if (auto found = cache.find(key)) {
    base::log(log_level::debug, options.name + ": taken from the cache, entry " + key);
    log_notes(options.name, *found);
    return std::move(*found);
  }
  auto const begin = std::chrono::steady_clock::now();
  compiled_code made = compile(cache);
  auto const took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin);
  base::log(log_level::info, options.name + ": compiled for " + kind + " in " +
                                 std::to_string(took.count()) + " ms");
  log_notes(options.name, made);
  cache.store(key, made);
  return made;
}

}  // namespace

compiled_code compile_for_cpus(std::string_view source, compile_options const& options) {
  cpu_compiler const compiler{options};
  return compile_with(compiler, source, options, "CPU devices",
                      [&](disk_cache const&) { return compiler.compile(source); });
}

compiled_code compile_for_gpus(std::string_view source, compile_options const& options,
                               gpu_target target) {
  gpu_compiler const compiler{options, target};
  return compile_with(compiler, source, options, "GPUs", [&](disk_cache const& cache) {
    return compiler.compile(source, cache.folder());
  });
}

}  // namespace flotilla::compiler
