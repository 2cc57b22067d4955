// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Describes the compilers and the cache that `compile` would use on this machine.

#include <cstddef>
#include <filesystem>
#include <string>

#include <flotilla/detail/export.hpp>
#include <flotilla/kernel/compile.hpp>

namespace flotilla {
inline namespace v0_1 {

/// What `compile` would use on this machine.
struct compiler_report {
  bool has_cpu_compiler = false;  ///< whether there is a C++ compiler for CPU devices
  /// The path and version of the compiler, or the reason why there is none.
  std::string cpu_text;
  bool has_nvrtc = false;  ///< whether there is an NVRTC for GPUs
  /// The path and version of NVRTC, or the reason why there is none.
  std::string nvrtc_text;
  bool has_cache = false;                 ///< whether compiled kernels are kept
  std::filesystem::path cache_directory;  ///< empty if there is no cache
  std::string cache_text;                 ///< why there is no cache; empty if there is one
  std::size_t cache_entries = 0;          ///< how many compiled kernels the cache has
  std::size_t cache_bytes = 0;            ///< the sum of the sizes of the entries
};

/// Searches for compilers in the places that `compile` describes, and opens the cache. The call
/// compiles nothing. It makes the folder of the cache if it does not exist, as `compile` does.
///
/// @param options  Where to search: cpu_compiler, nvrtc, cache and cache_directory. The other
///                 members have no effect.
/// @throws invalid_argument  One of these members is not an absolute path.
///
/// Threads  any.
/// Blocks   while the C++ compiler prints its version, some milliseconds, at most 10 s.
[[nodiscard]] FLOTILLA_EXPORT compiler_report
describe_compilers(compile_options const& options = {});

}  // namespace v0_1
}  // namespace flotilla
