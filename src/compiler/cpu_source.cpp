// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu_source.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include <flotilla/error/compile_error.hpp>

#include "compiler/compiler_log.hpp"
#include "compiler/cpu_symbols.hpp"
#include "compiler/cpu_tokens.hpp"
#include "compiler/refused_features.hpp"

namespace flotilla::compiler {

namespace {

constexpr std::string_view version_mark = "flotilla_host_compiler(";
constexpr int least_gcc = 12;
constexpr int least_clang = 16;

/// The versions that the end of source_to_scan() asks for.
struct compiler_version {
  int gcc = 0;
  int clang = 0;  // 0: the compiler is not clang
};

compiler_version version_in(std::string_view preprocessed) {
  compiler_version found;
  std::size_t const at = preprocessed.rfind(version_mark);
  if (at == std::string_view::npos) { return found; }
  std::string_view const values = preprocessed.substr(at + version_mark.size());
  char const* const end = values.data() + values.size();
  char const* next = std::from_chars(values.data(), end, found.gcc).ptr;
  while (next != end && (*next == ',' || *next == ' ')) { ++next; }
  std::from_chars(next, end, found.clang);  // without clang, there is a name and no number
  return found;
}

void check_version(compiler_version found) {
  bool const is_clang = found.clang != 0;
  int const least = is_clang ? least_clang : least_gcc;
  int const version = is_clang ? found.clang : found.gcc;
  if (version >= least) { return; }
  throw no_compiler(
      "the compiler for CPU devices is " + std::string{is_clang ? "clang " : "g++ "} +
      std::to_string(version) + ", but kernels need g++ " + std::to_string(least_gcc) +
      " or clang " + std::to_string(least_clang) +
      ", or later; install one, or name it with FLOTILLA_CXX or compile_options::cpu_compiler");
}

std::string in_quotes(std::string const& text) { return "\"" + text + "\""; }

std::string record(std::string const& name, std::string const& function,
                   std::string const& launch_bounds) {
  std::string const bounds = launch_bounds.empty()
                                 ? "0"
                                 : "::flotilla::cpu::language::launch_bound(" + launch_bounds + ")";
  return "  ::flotilla::cpu::language::kernel<(&" + function + ")>::record(" + in_quotes(name) +
         ", " + bounds + "),\n";
}

/// Returns the name of the function in an expression: "step" of "mine::step<float, 4>".
std::string_view function_in(std::string_view expression) {
  expression = expression.substr(0, expression.find('<'));
  while (expression.ends_with(' ')) { expression.remove_suffix(1); }
  std::size_t const colon = expression.rfind(':');
  return colon == std::string_view::npos ? expression : expression.substr(colon + 1);
}

/// The launch bounds of a template may depend on its arguments, which are not known here.
std::string numbers_only(std::string const& bounds) {
  bool const good = std::all_of(bounds.begin(), bounds.end(), [](char c) {
    return (c >= '0' && c <= '9') || c == ',' || c == ' ';
  });
  return good ? bounds : std::string{};
}

std::string kernel_records(cpu_symbols const& symbols, compile_options const& options,
                           std::string& errors) {
  std::string records;
  std::set<std::string> seen;
  for (cpu_kernel const& each : symbols.kernels) {
    if (!each.is_extern_c || each.is_template) { continue; }
    if (each.is_in_unnamed_namespace) {
      errors += error_line(each.where, "kernel " + each.name +
                                           " is in an unnamed namespace, where CUDA changes its "
                                           "name; move it out");
    } else if (seen.insert(each.name).second) {
      records += record(each.name, each.qualified, each.launch_bounds);
    }
  }
  for (std::string expression : options.name_expressions) {
    if (!seen.insert(expression).second) { continue; }
    std::string const name = expression;
    if (expression.starts_with('&')) { expression.erase(0, 1); }
    std::string bounds;
    for (cpu_kernel const& each : symbols.kernels) {
      if (each.name == function_in(expression)) { bounds = numbers_only(each.launch_bounds); }
    }
    records += record(name, expression, bounds);
  }
  return records;
}

std::size_t line_of(std::string_view source, std::string_view word) {
  std::size_t const at = source.find(word);
  if (at == std::string_view::npos) { return 1; }
  return 1 + static_cast<std::size_t>(std::count(
                 source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

std::string no_kernel(cpu_symbols const& symbols, std::string_view user_source,
                      std::string const& name) {
  if (!symbols.kernels.empty()) {
    cpu_kernel const& first = symbols.kernels.front();
    return error_line(first.where, "kernel " + first.name +
                                       " is not extern \"C\": write extern \"C\" __global__ void " +
                                       first.name +
                                       "(...), or name it in compile_options::name_expressions");
  }
  bool const removed = user_source.find("__global__") != std::string_view::npos;
  cpu_token const where{"", name, line_of(user_source, "__global__")};
  return error_line(where, removed ? "no kernel is left for CPU devices: all __global__ functions "
                                     "are for GPUs only, or a macro removes them"
                                   : "no kernel: write extern \"C\" __global__ void NAME(...) "
                                     "{ ... }");
}

}  // namespace

std::string source_to_scan() {
  return "#include \"" + std::string{user_file} + "\"\n#line 1 \"<flotilla>\"\n" +
         std::string{version_mark} + "__GNUC__, __clang_major__)\n";
}

bool is_from_clang(std::string_view preprocessed) { return version_in(preprocessed).clang != 0; }

std::string write_cpu_source(std::string_view preprocessed, std::string_view user_source,
                             compile_options const& options) {
  check_version(version_in(preprocessed));
  std::vector<cpu_token> const tokens = tokens_of(preprocessed);
  std::string errors = find_refused_features(tokens);
  cpu_symbols const symbols = find_cpu_symbols(tokens);
  std::string const records = kernel_records(symbols, options, errors);
  if (errors.empty() && records.empty()) { errors = no_kernel(symbols, user_source, options.name); }
  for (cpu_kernel const& each : symbols.without_twin) {
    bool const known =
        std::any_of(symbols.kernels.begin(), symbols.kernels.end(),
                    [&](cpu_kernel const& kernel) { return kernel.name == each.name; });
    // A mangled name may be that of a template's instance.
    if (known || each.name.starts_with("_Z")) { continue; }
    errors += error_line(
        each.where, "FLOTILLA_NO_TWIN(" + each.name + "): the source has no kernel " + each.name);
  }
  if (!errors.empty()) { throw source_does_not_compile(options.name, std::move(errors)); }

  std::string variables;
  for (cpu_variable const& each : symbols.variables) {
    variables += "  ::flotilla::cpu::language::global(" + in_quotes(each.name) + ", " +
                 each.qualified + "),\n";
  }
  std::string const table =
      variables.empty()
          ? "static constexpr ::flotilla::cpu::global_record* flotilla_globals = nullptr;\n"
          : "static ::flotilla::cpu::global_record const flotilla_globals[] = {\n" + variables +
                "};\n";
  std::string const count =
      variables.empty() ? "0" : "sizeof flotilla_globals / sizeof *flotilla_globals";
  // An error in a name expression is at this line.
  return "#include \"" + std::string{user_file} +
         "\"\n#include <flotilla/kernel_language/image_definitions.hpp>\n"
         "#line 1 \"compile_options::name_expressions\"\n"
         "static constexpr ::flotilla::cpu::kernel_record flotilla_kernels[] = {\n" +
         records + "};\n" + table +
         "extern \"C\" __attribute__((visibility(\"default\"), used)) ::flotilla::cpu::cpu_image "
         "const flotilla_cpu_image = {\n"
         "  ::flotilla::cpu::cpu_image::current_abi,\n"
         "  sizeof flotilla_kernels / sizeof *flotilla_kernels, flotilla_kernels,\n  " +
         count + ", flotilla_globals,\n};\n";
}

}  // namespace flotilla::compiler
