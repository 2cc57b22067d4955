// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "finding.hpp"

namespace tool {

using grades = finding::grades;

void examine_compilers(findings& into, flotilla::compiler_report const& report, bool gpus) {
  into.push_back({report.has_cpu_compiler ? grades::ok
                  : gpus                  ? grades::note
                                          : grades::warning,
                  "C++ compiler", report.cpu_text,
                  report.has_cpu_compiler
                      ? ""
                      : "flotilla::compile needs it for CPU devices; programs whose kernels were "
                        "compiled when they were built do not"});
  into.push_back({report.has_nvrtc ? grades::ok
                  : gpus           ? grades::warning
                                   : grades::note,
                  "NVRTC", report.nvrtc_text,
                  report.has_nvrtc
                      ? ""
                      : "flotilla::compile needs it for GPUs; programs whose kernels were compiled "
                        "when they were built do not"});
  std::string const size = std::to_string(report.cache_entries) + " entries, " +
                           std::to_string(report.cache_bytes >> 10) + " KiB";
  into.push_back(
      {report.has_cache ? grades::ok : grades::warning, "cache of kernels",
       report.has_cache ? report.cache_directory.string() + ", " + size : report.cache_text,
       report.has_cache ? ""
                        : "flotilla::compile works, but each process compiles its kernels again: "
                          "set XDG_CACHE_HOME, or compile_options::cache_directory, to a folder "
                          "that can be written"});
}

}  // namespace tool
