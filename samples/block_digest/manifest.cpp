// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "manifest.hpp"

#include <cerrno>
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

manifest::manifest(std::string const& path)
    : path_{path}, file_{path, std::ios::binary | std::ios::trunc} {
  if (!file_) { throw std::system_error{errno, std::generic_category(), "--manifest " + path_}; }
}

void manifest::line(digest const& value, std::uint64_t offset, std::uint64_t length,
                    manifest_name const& name) {
  file_ << name.prefix << hex(value) << "  " << offset << "  " << length << "  " << name.shown
        << '\n';
}

void manifest::close() {
  file_.close();  // the state of the stream also reports earlier failed writes
  if (!file_) {
    throw std::runtime_error{"--manifest " + path_ + ": the file could not be written completely"};
  }
}

}  // namespace block_digest
