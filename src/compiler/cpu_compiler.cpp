// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu_compiler.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/detail/deadline.hpp>
#include <flotilla/error/error.hpp>

#include "compiler/child_process.hpp"
#include "compiler/compiler_log.hpp"
#include "compiler/cpu_source.hpp"
#include "compiler/file_io.hpp"
#include "compiler/kernel_headers.hpp"
#include "compiler/work_folder.hpp"

namespace flotilla::compiler {

namespace {

using texts = std::vector<std::string>;

// cmake/flotilla_add_kernels.cmake has the same list, and the reason for each flag.
constexpr char const* common_flags[] = {"-fPIC",
                                        "-fvisibility=hidden",
                                        "-U_FORTIFY_SOURCE",
                                        "-O3",
                                        "-fno-lto",
                                        "-fno-exceptions",
                                        "-fno-rtti",
                                        "-fno-math-errno",
                                        "-fno-strict-aliasing",
                                        "-fno-builtin-printf",
                                        "-fno-builtin-malloc",
                                        "-fno-builtin-free"};
constexpr char const* gcc_flags[] = {"-fno-gnu-unique", "-fcheck-new"};
// -ffast-math itself would link code that changes the rounding of subnormal numbers for the thread
// that loads the image. CUDA's fast arithmetic keeps infinities and NaNs, so this one does too.
constexpr char const* fast_flags[] = {"-fno-trapping-math", "-fno-signed-zeros",
                                      "-fassociative-math", "-freciprocal-math",
                                      "-ffp-contract=fast"};

/// The flags of both calls of the compiler.
texts flags_of(compile_options const& options, std::string const& work) {
  texts made{"-std=c++" + std::to_string(options.standard)};
  // The headers of the kernel language need C++20.
  if (options.standard < 20) { made.front() = "-std=c++20"; }
  made.insert(made.end(), std::begin(common_flags), std::end(common_flags));
  if (options.fast_math) { made.insert(made.end(), std::begin(fast_flags), std::end(fast_flags)); }
  made.push_back("-I" + work + "/include");
  for (auto const& each : options.include_directories) { made.push_back("-I" + each.string()); }
  for (std::string const& each : options.defines) { made.push_back("-D" + each); }
  made.insert(made.end(), options.cpu_options.begin(), options.cpu_options.end());
  return made;
}

/// Returns the line of /proc/cpuinfo that lists what the processor can do.
std::string processor_features() {
  std::string text;
  if (!read_file("/proc/cpuinfo", text)) { return {}; }
  for (std::string_view const name : {"\nflags", "\nFeatures"}) {  // x86-64, AArch64
    std::size_t const at = text.find(name);
    if (at != std::string::npos) { return text.substr(at, text.find('\n', at + 1) - at); }
  }
  return {};
}

/// One compilation.
class cpu_compilation {
 public:
  cpu_compilation(compile_options const& options, std::string const& compiler)
      : options_(options), compiler_(compiler), deadline_(detail::deadline_after(options.timeout)) {
    for (kernel_header const& each : kernel_headers()) {
      work_.write("include/" + std::string{each.name}, each.text);
    }
    work_.write("image.map", cpu_image_map());
  }

  std::string run(std::string_view source) const {
    // The name of the source stands in errors, instead of the name of the temporary file.
    work_.write(user_file, "#line 1 \"" + options_.name + "\"\n" + std::string{source} + "\n");
    work_.write("scan.cpp", source_to_scan());
    call({"-DFLOTILLA_KERNEL_SCAN", "-E", "-x", "c++", work_.path_of("scan.cpp"), "-o",
          work_.path_of("scan.ii")});
    std::string const preprocessed = product("scan.ii");
    work_.write("image.cpp", write_cpu_source(preprocessed, source, options_));
    texts arguments{"-include",
                    "flotilla/kernel_language.hpp",
                    "-shared",
                    "-Wl,--as-needed",
                    "-Wl,--version-script=" + work_.path_of("image.map"),
                    "-x",
                    "c++",
                    work_.path_of("image.cpp"),
                    "-o",
                    work_.path_of("image.so")};
    if (!is_from_clang(preprocessed)) {
      arguments.insert(arguments.begin(), std::begin(gcc_flags), std::end(gcc_flags));
    }
    call(std::move(arguments));
    return product("image.so");
  }

 private:
  /// Calls the compiler, and keeps what it prints.
  void call(texts arguments) const {
    texts all{compiler_};
    texts const flags = flags_of(options_, work_.path_of("."));
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), arguments.begin(), arguments.end());
    child_result result = run_program(all, deadline_);
    if (result.was_timed_out) {
      throw timed_out(options_.name + ": the compiler " + compiler_ + " took longer than " +
                      std::to_string(options_.timeout.count()) +
                      " ms (compile_options::timeout), and was ended");
    }
    if (!result.succeeded) {
      throw source_does_not_compile(options_.name, std::move(result.output));
    }
  }

  [[nodiscard]] std::string product(std::string_view name) const {
    std::string bytes;
    if (!read_file(work_.path_of(name), bytes) || bytes.empty()) {
      throw source_does_not_compile(options_.name,
                                    "error: the compiler " + compiler_ + " has made no output\n");
    }
    return bytes;
  }

  compile_options const& options_;
  std::string const& compiler_;
  std::chrono::steady_clock::time_point const deadline_;
  work_folder const work_;
};

}  // namespace

cpu_compiler::cpu_compiler(compile_options const& options)
    : options_(options), host_(find_host_compiler(options)) {}

void cpu_compiler::add_to(key_text& key) const {
  key.add("kind", "cpu");
  key.add("compiler", host_.identity);
  // Machines with different processors may share a home folder.
  bool const is_native =
      std::any_of(options_.cpu_options.begin(), options_.cpu_options.end(),
                  [](std::string const& each) { return each.find("native") != each.npos; });
  if (is_native) { key.add("processor", processor_features()); }
  key.add_all("flag", flags_of(options_, "work"));
}

compiled_code cpu_compiler::compile(std::string_view source) const {
  return {cpu_compilation{options_, host_.path}.run(source), {}, {}};
}

}  // namespace flotilla::compiler
