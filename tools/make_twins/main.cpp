// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// flotilla_make_twins: adds twins of kernels to PTX. flotilla_add_kernels() runs it.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "make_twins/add_twins.hpp"
#include "make_twins/scanner.hpp"

namespace {

using namespace flotilla::make_twins;

constexpr char const* usage =
    "usage: flotilla_make_twins IN.ptx OUT.ptx [IN.ptx OUT.ptx]...\n"
    "Copies PTX modules, and adds a twin of each suitable kernel. The modules are one source for\n"
    "different architectures. Prints one line for each kernel without a twin.\n";

std::runtime_error file_error(char const* what, std::string const& path) {
  return std::runtime_error(path + ": error: cannot " + what +
                            " the file: " + std::strerror(errno));
}

std::string read(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) { throw file_error("read", path); }
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) { throw file_error("read", path); }
  return text;
}

module_with_twins add_twins_to_file(std::string const& path) {
  std::string const text = read(path);
  try {
    return add_twins(text);
  } catch (malformed_ptx const& e) {
    throw std::runtime_error(path + ":" + std::to_string(e.line()) + ": error: " + e.what());
  }
}

void write(std::string const& path, std::string const& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) { throw file_error("write", path); }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> const files(argv + 1, argv + argc);
  if (files.empty() || files.size() % 2 != 0) {
    std::fputs(usage, stderr);
    return 2;
  }
  try {
    std::vector<module_with_twins> modules;
    for (std::size_t i = 0; i < files.size(); i += 2) {
      modules.push_back(add_twins_to_file(files[i]));
    }
    // Nothing was written so far, so an error in one module leaves no new file.
    for (std::size_t i = 0; i < files.size(); i += 2) { write(files[i + 1], modules[i / 2].ptx); }
    for (std::string const& line : report(modules)) { std::printf("flotilla: %s\n", line.c_str()); }
    return 0;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    // An old output must not look like the output of this run.
    for (std::size_t i = 1; i < files.size(); i += 2) {
      std::error_code ignored;
      std::filesystem::remove(files[i], ignored);
    }
    return 1;
  }
}
