// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu_compiler.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/detail/deadline.hpp>
#include <flotilla/error/error.hpp>

#include "compiler/bundled_headers.hpp"
#include "compiler/compiler_log.hpp"
#include "compiler/kernel_headers.hpp"
#include "compiler/standard_headers.hpp"
#include "make_twins/add_twins.hpp"
#include "make_twins/scanner.hpp"

namespace flotilla::compiler {

namespace {

using clock = std::chrono::steady_clock;

// NVRTC searches the folder of the source for #include "…": the working directory if its name has
// none. The cache would not notice changes there. So NVRTC gets a name in a folder that cannot
// exist, and a line with the real name. (The option --no-source-include also turns off the search
// for headers beside other headers.)
constexpr char no_folder[] = "/proc/flotilla/";

/// A program of NVRTC.
class program_handle {
 public:
  program_handle(nvrtc_library const& nvrtc, std::string const& source, std::string const& name)
      : nvrtc_(nvrtc), name_(name) {
    std::string const text = "#line 1 \"" + name + "\"\n" + source;
    std::vector<char const*> texts;
    std::vector<char const*> names;
    for (kernel_header const& each : kernel_headers()) {
      texts.push_back(each.text);
      names.push_back(each.name);
    }
    for (kernel_header const& each : standard_headers()) {
      texts.push_back(each.text);
      names.push_back(each.name);
    }
    std::string const place = no_folder + name;
    int const answer = nvrtc_.create(&handle_, text.c_str(), place.c_str(),
                                     static_cast<int>(texts.size()), texts.data(), names.data());
    if (answer != nvrtc_success) { fail("nvrtcCreateProgram", answer); }
  }
  program_handle(program_handle const&) = delete;
  program_handle& operator=(program_handle const&) = delete;
  ~program_handle() { nvrtc_.destroy(&handle_); }

  [[nodiscard]] nvrtc_program get() const noexcept { return handle_; }

  [[nodiscard]] std::string log() const {
    std::size_t bytes = 0;
    if (nvrtc_.log_size(handle_, &bytes) != nvrtc_success) { return {}; }
    std::string text(bytes, '\0');
    if (bytes > 0 && nvrtc_.log(handle_, text.data()) != nvrtc_success) { return {}; }
    while (text.ends_with('\0')) { text.pop_back(); }
    std::string const place = no_folder + name_;
    for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at)) {
      text.replace(at, place.size(), name_);
      at += name_.size();
    }
    return text;
  }

  [[nodiscard]] std::string ptx() const {
    std::size_t bytes = 0;
    check("nvrtcGetPTXSize", nvrtc_.ptx_size(handle_, &bytes));
    std::string text(bytes, '\0');
    check("nvrtcGetPTX", nvrtc_.ptx(handle_, text.data()));
    while (text.ends_with('\0')) { text.pop_back(); }
    return text;
  }

  void check(char const* call, int answer) const {
    if (answer != nvrtc_success) { fail(call, answer); }
  }

 private:
  [[noreturn]] void fail(char const* call, int answer) const {
    throw error(std::string{call} + " failed: " + nvrtc_.error_text(answer));
  }
  nvrtc_library const& nvrtc_;
  std::string const name_;
  nvrtc_program handle_ = nullptr;
};

/// NVRTC calls it now and then. @return 1 to end the compilation
int is_too_late(void* deadline, void*) {
  return clock::now() > *static_cast<clock::time_point const*>(deadline) ? 1 : 0;
}

/// Options that NVRTC's assembler has, which flotilla calls separately.
bool is_for_assembler(std::string const& option) {
  return option.starts_with("--maxrregcount") || option.starts_with("-maxrregcount");
}

}  // namespace

gpu_compiler::gpu_compiler(compile_options const& options, gpu_target target)
    : options_(options),
      target_(target),
      nvrtc_(open_nvrtc(options)),
      assembler_(nvrtc_),
      architecture_(nvrtc_.best_architecture(target.architecture)) {
  if (architecture_ == 0) {
    throw no_compiler("NVRTC " + std::to_string(nvrtc_.major) + "." + std::to_string(nvrtc_.minor) +
                      " (" + nvrtc_.file.path + ") cannot compile for compute capability " +
                      std::to_string(target.architecture / 10) + "." +
                      std::to_string(target.architecture % 10) +
                      "; install an NVRTC that can, and name it with FLOTILLA_NVRTC");
  }
}

std::vector<std::string> gpu_compiler::nvrtc_options() const {
  std::vector<std::string> made{"--gpu-architecture=compute_" + std::to_string(architecture_),
                                "--std=c++" + std::to_string(options_.standard),
                                "--pre-include=flotilla/kernel_language.hpp"};
  if (options_.fast_math) { made.emplace_back("--use_fast_math"); }
  for (auto const& each : options_.include_directories) {
    made.push_back("--include-path=" + each.string());
  }
  for (std::string const& each : nvrtc_.include_folders) {
    made.push_back("--include-path=" + each);
  }
  for (std::string const& each : options_.defines) { made.push_back("--define-macro=" + each); }
  made.insert(made.end(), options_.gpu_options.begin(), options_.gpu_options.end());
  return made;
}

void gpu_compiler::add_to(key_text& key) const {
  key.add("kind", "gpu");
  key.add("nvrtc", nvrtc_.identity);
  key.add("assembler", target_.is_uniform ? assembler_.identity() : "");
  key.add("architecture", std::to_string(target_.architecture));
  key.add("fused", options_.fused ? "1" : "0");
  key.add_all("option", nvrtc_options());
}

compiled_code gpu_compiler::compile_to_ptx(std::string_view source,
                                           std::vector<std::string> const& header_folders) const {
  program_handle const made{nvrtc_, std::string{source}, options_.name};
  for (std::string const& each : options_.name_expressions) {
    made.check("nvrtcAddNameExpression", nvrtc_.add_name(made.get(), each.c_str()));
  }
  std::vector<std::string> options = nvrtc_options();
  for (std::string const& each : header_folders) { options.push_back("--include-path=" + each); }
  std::vector<char const*> pointers;
  for (std::string const& each : options) { pointers.push_back(each.c_str()); }
  clock::time_point deadline = detail::deadline_after(options_.timeout);
  if (nvrtc_.set_callback != nullptr) { nvrtc_.set_callback(made.get(), &is_too_late, &deadline); }
  int const answer = nvrtc_.compile(made.get(), static_cast<int>(pointers.size()), pointers.data());
  if (answer == nvrtc_cancelled) {
    throw timed_out(options_.name + ": NVRTC took longer than " +
                    std::to_string(options_.timeout.count()) +
                    " ms (compile_options::timeout), and was ended");
  }
  if (answer != nvrtc_success) {
    std::string log = made.log();
    if (log.empty()) { log = std::string{"error: "} + nvrtc_.error_text(answer) + "\n"; }
    throw source_does_not_compile(options_.name, std::move(log));
  }
  compiled_code code;
  code.bytes = made.ptx();
  for (std::string const& each : options_.name_expressions) {
    char const* symbol = nullptr;
    made.check("nvrtcGetLoweredName", nvrtc_.lowered_name(made.get(), each.c_str(), &symbol));
    code.aliases.push_back({each, symbol});
  }
  if (std::string const log = made.log(); !log.empty()) { code.notes.push_back("NVRTC: " + log); }
  return code;
}

void gpu_compiler::add_twins(compiled_code& to) const {
  try {
    make_twins::module_with_twins made = make_twins::add_twins(to.bytes);
    to.bytes = std::move(made.ptx);
    for (std::string& line : make_twins::report({std::move(made)})) {
      to.notes.push_back(std::move(line));
    }
  } catch (make_twins::malformed_ptx const& why) {
    // A later NVRTC may write PTX that flotilla does not know. The kernels work without twins.
    to.notes.push_back("no twins: line " + std::to_string(why.line()) +
                       " of the PTX: " + why.what());
  }
}

void gpu_compiler::assemble(compiled_code& ptx) const {
  std::string why_not = "the GPUs have several architectures";
  std::vector<std::string> options;
  for (std::string const& each : options_.gpu_options) {
    if (is_for_assembler(each)) { options.push_back(each.substr(each.starts_with("--") ? 1 : 0)); }
  }
  if (target_.is_uniform && !assembler_.is_usable()) { why_not = "there is no nvJitLink"; }
  if (target_.is_uniform && assembler_.is_usable()) {
    auto cubin = assembler_.assemble(ptx.bytes, architecture_, options, why_not);
    if (cubin) {
      ptx.bytes = std::move(*cubin);
      return;
    }
  }
  ptx.notes.push_back("the driver translates the PTX, because " + why_not);
  ptx.bytes += '\0';  // the driver reads PTX until a zero byte
}

compiled_code gpu_compiler::compile(std::string_view source,
                                    std::string const& cache_folder) const {
  std::optional<bundled_headers> headers;
  if (source.find("include") != std::string_view::npos) { headers.emplace(nvrtc_, cache_folder); }
  compiled_code code =
      compile_to_ptx(source, headers ? headers->folders() : std::vector<std::string>{});
  if (code.bytes.find(".entry") == std::string::npos) {
    throw source_does_not_compile(options_.name,
                                  options_.name +
                                      "(1): error: no kernel: write extern \"C\" "
                                      "__global__ void NAME(...) { ... }, or name a template in "
                                      "compile_options::name_expressions\n");
  }
  if (options_.fused) { add_twins(code); }
  assemble(code);
  return code;
}

}  // namespace flotilla::compiler
