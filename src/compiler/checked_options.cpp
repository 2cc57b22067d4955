// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/checked_options.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <flotilla/error/error.hpp>

namespace flotilla::compiler {

namespace {

[[noreturn]] void refuse(std::string_view option, std::string const& why) {
  throw invalid_argument("compile_options::" + std::string{option} + ": " + why);
}

void check_text(std::string_view option, std::string_view text, std::string_view forbidden) {
  if (text.empty()) { refuse(option, "a text is empty"); }
  for (char const c : text) {
    if (static_cast<unsigned char>(c) < ' ' || forbidden.find(c) != std::string_view::npos) {
      refuse(option, "'" + std::string{text} + "' has a character that is not allowed there");
    }
  }
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void check_define(std::string_view define) {
  check_text("defines", define, "");
  std::string_view const name = define.substr(0, define.find('='));
  bool good = !name.empty() && is_letter(name.front());
  for (char const c : name) { good = good && (is_letter(c) || (c >= '0' && c <= '9')); }
  if (!good) { refuse("defines", "'" + std::string{define} + "' is not NAME or NAME=VALUE"); }
}

/// An option of a compiler that is refused, and what to do instead.
struct refused_option {
  std::string_view begin;
  bool is_whole;  // the option is refused only if it has no more characters
  std::string_view instead;
};

constexpr std::string_view by_flotilla = "flotilla sets it";
constexpr std::string_view use_defines = "use compile_options::defines";
constexpr std::string_view use_includes = "use compile_options::include_directories";
constexpr std::string_view use_standard = "use compile_options::standard";
constexpr std::string_view use_fast_math = "use compile_options::fast_math";
constexpr std::string_view no_files = "the cache would not notice a change of the file";

constexpr refused_option refused_by_both[] = {
    {"-D", false, use_defines},    {"-U", false, use_defines},     {"-I", false, use_includes},
    {"-std", false, use_standard}, {"--std", false, use_standard}, {"-include", false, no_files},
    {"@", false, no_files},
};
constexpr refused_option refused_for_gpus[] = {
    {"--gpu-architecture", false, by_flotilla},
    {"-arch", false, by_flotilla},
    {"--define-macro", false, use_defines},
    {"--undefine-macro", false, use_defines},
    {"--include-path", false, use_includes},
    {"--pre-include", false, no_files},
    {"--use-bundled-headers", false, by_flotilla},
    {"--use_fast_math", false, use_fast_math},
    {"-use_fast_math", false, use_fast_math},
    {"--options-file", false, no_files},
    {"-optf", false, no_files},
    {"--device-debug", false, "NVRTC can debug only without twins, with a file of the source"},
    {"-G", true, "NVRTC can debug only without twins, with a file of the source"},
    {"--dlink-time-opt", false, by_flotilla},
    {"-dlto", false, by_flotilla},
    {"--relocatable-device-code", false, by_flotilla},
    {"-rdc", false, by_flotilla},
    {"--create-pch", false, no_files},
    {"--use-pch", false, no_files},
    {"--pch", false, no_files},
};
constexpr refused_option refused_for_cpus[] = {
    {"-o", false, by_flotilla},       {"-x", false, by_flotilla},
    {"-c", true, by_flotilla},        {"-S", true, by_flotilla},
    {"-E", true, by_flotilla},        {"-M", false, by_flotilla},
    {"-shared", false, by_flotilla},  {"-static", false, by_flotilla},
    {"-l", false, no_files},          {"-L", false, no_files},
    {"-B", false, no_files},          {"-isystem", false, use_includes},
    {"-iquote", false, use_includes}, {"-idirafter", false, use_includes},
    {"-imacros", false, no_files},    {"-iprefix", false, no_files},
    {"-isysroot", false, no_files},   {"--sysroot", false, no_files},
    {"-specs", false, no_files},      {"-fplugin", false, no_files},
    {"-save-temps", false, no_files}, {"-ffast-math", true, use_fast_math},
    {"-Ofast", true, use_fast_math},  {"-funsafe-math-optimizations", true, use_fast_math},
};

void check_extra(std::string_view member, std::string_view option,
                 std::span<refused_option const> refused) {
  for (refused_option const& each : refused) {
    if (each.is_whole ? option == each.begin : option.starts_with(each.begin)) {
      refuse(member,
             "the option '" + std::string{option} + "' is refused: " + std::string{each.instead});
    }
  }
}

void check_extras(std::string_view member, std::vector<std::string> const& options,
                  std::span<refused_option const> refused) {
  for (std::string const& each : options) {
    check_text(member, each, "");
    if (!each.starts_with('-') && !each.starts_with('@')) {
      refuse(member, "'" + each +
                         "' does not begin with '-'; write an option and its value as "
                         "one text, such as \"--maxrregcount=64\"");
    }
    check_extra(member, each, refused_by_both);
    check_extra(member, each, refused);
  }
}

void check_absolute(std::string_view option, std::filesystem::path const& path) {
  if (path.empty()) { return; }
  check_text(option, path.string(), "");
  if (!path.is_absolute()) { refuse(option, "'" + path.string() + "' is not an absolute path"); }
}

}  // namespace

compile_options checked_options(compile_options options) {
  check_text("name", options.name, "\"\\<>");
  for (std::string const& each : options.defines) { check_define(each); }
  for (std::filesystem::path& each : options.include_directories) {
    std::error_code failed;
    check_text("include_directories", each.string(), "");
    if (!std::filesystem::is_directory(each, failed)) {
      refuse("include_directories", "there is no folder '" + each.string() + "'");
    }
    each = std::filesystem::absolute(each);
  }
  for (std::string const& each : options.name_expressions) {
    check_text("name_expressions", each, ";{}\"\\#");
  }
  if (options.standard != 17 && options.standard != 20) {
    refuse("standard", "it must be 17 or 20, but is " + std::to_string(options.standard));
  }
  check_extras("gpu_options", options.gpu_options, refused_for_gpus);
  check_extras("cpu_options", options.cpu_options, refused_for_cpus);
  check_absolute("cpu_compiler", options.cpu_compiler);
  check_absolute("nvrtc", options.nvrtc);
  check_absolute("cache_directory", options.cache_directory);
  if (options.timeout < std::chrono::milliseconds{1}) {
    refuse("timeout",
           "it must be at least 1 ms, but is " + std::to_string(options.timeout.count()) + " ms");
  }
  if (options.cache_bytes == 0) {
    refuse("cache_bytes", "it must be at least 1; to use no cache, set compile_options::cache");
  }
  return options;
}

}  // namespace flotilla::compiler
