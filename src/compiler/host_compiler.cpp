// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/host_compiler.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <vector>

#include <flotilla/error/compile_error.hpp>

#include "compiler/kernel_headers.hpp"
#include "compiler/privileges.hpp"

namespace flotilla::compiler {

namespace {

// The search path of the environment is not used: it may name the working directory.
constexpr std::array<char const*, 3> folders{"/usr/local/bin/", "/usr/bin/", "/bin/"};
constexpr std::array<char const*, 3> names{"c++", "clang++", "g++"};

/// Returns the compiler `name`: a path, or a name in the fixed folders. Without a path: none.
host_compiler find_named(std::string const& name) {
  if (name.starts_with('/')) {
    std::string identity = file_identity(name, X_OK);
    return {identity.empty() ? "" : name, std::move(identity)};
  }
  if (name.empty() || name.find('/') != std::string::npos) { return {}; }
  for (char const* const folder : folders) {
    host_compiler found = find_named(folder + name);
    if (!found.path.empty()) { return found; }
  }
  return {};
}

}  // namespace

std::string file_identity(std::string const& path, int mode) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode) ||
      ::access(path.c_str(), mode) != 0) {
    return {};
  }
  std::error_code failed;
  return std::filesystem::canonical(path, failed).string() + " " + std::to_string(about.st_size) +
         " " + std::to_string(about.st_mtim.tv_sec) + "." + std::to_string(about.st_mtim.tv_nsec);
}

host_compiler find_host_compiler(compile_options const& options) {
  if (!options.cpu_compiler.empty()) {
    host_compiler found = find_named(options.cpu_compiler.string());
    if (!found.path.empty()) { return found; }
    throw no_compiler("compile_options::cpu_compiler: '" + options.cpu_compiler.string() +
                      "' is not a program that can be executed");
  }
  if (std::string const named = trusted_environment("FLOTILLA_CXX"); !named.empty()) {
    host_compiler found = find_named(named);
    if (!found.path.empty()) { return found; }
    throw no_compiler("environment variable FLOTILLA_CXX: '" + named +
                      "' is neither the absolute path of a program nor the name of one in "
                      "/usr/local/bin, /usr/bin or /bin");
  }
  std::string const own{compiler_of_flotilla()};
  if (host_compiler found = find_named(own); !found.path.empty()) { return found; }
  for (char const* const name : names) {
    if (host_compiler found = find_named(name); !found.path.empty()) { return found; }
  }
  throw no_compiler(
      "compiling kernels for CPU devices needs a C++ compiler, but there is none: tried " + own +
      ", and c++, clang++ and g++ in /usr/local/bin, /usr/bin and /bin. Install g++ 12 or clang "
      "16, "
      "or later (Debian: apt-get install g++), or name a compiler with FLOTILLA_CXX or "
      "compile_options::cpu_compiler");
}

}  // namespace flotilla::compiler
