// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "manifest.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>

namespace block_digest {

manifest_name::manifest_name(std::string_view path) {
  for (char const c : path) {
    switch (c) {
      case '\n': shown += "\\n"; break;
      case '\\': shown += "\\\\"; break;
      default: shown += c; continue;
    }
    prefix = "\\";
  }
}

void append_line(std::string& to, digest const& value, std::uint64_t offset, std::uint64_t length,
                 manifest_name const& name) {
  std::array<char, 20> number;  // a 64-bit number has at most 20 digits
  auto const append_number = [&](std::uint64_t n) {
    char* const end = std::to_chars(number.data(), number.data() + number.size(), n).ptr;
    to.append(number.data(), end);
  };
  to += name.prefix;
  append_hex(to, value);
  to += "  ";
  append_number(offset);
  to += "  ";
  append_number(length);
  to += "  ";
  to += name.shown;
  to += '\n';
}

manifest::manifest(std::string const& path)
    : path_{path}, file_{path, std::ios::binary | std::ios::trunc} {
  if (!file_) { throw std::system_error{errno, std::generic_category(), "--manifest " + path_}; }
}

void manifest::write(std::string_view lines) {
  file_.write(lines.data(), static_cast<std::streamsize>(lines.size()));
}

void manifest::close() {
  file_.close();  // the state of the stream also reports earlier failed writes
  if (!file_) {
    throw std::runtime_error{"--manifest " + path_ + ": the file could not be written completely"};
  }
}

}  // namespace block_digest
