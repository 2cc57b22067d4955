// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The manifest: a text file with one line for each block.

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "digest.hpp"

namespace block_digest {

/// A path as the manifest shows it. As in the output of sha256sum, a newline in a path is written
/// as "\n" and a backslash as "\\". A line with such a path begins with a backslash.
struct manifest_name {
  explicit manifest_name(std::string_view path);
  std::string prefix;  ///< the first characters of the line: "\" or nothing
  std::string shown;   ///< the path with these escapes
};

/// Appends the line "DIGEST  OFFSET  LENGTH  PATH". The digest has 64 hexadecimal digits. Offset
/// and length are decimal numbers of bytes.
void append_line(std::string& to, digest const& value, std::uint64_t offset, std::uint64_t length,
                 manifest_name const& name);

/// The file.
class manifest {
 public:
  /// @param path  The file to create. An existing file is overwritten.
  /// @throws std::system_error  The file cannot be created.
  explicit manifest(std::string const& path);

  /// Writes lines that append_line() has made.
  void write(std::string_view lines);

  /// Flushes and closes the file.
  /// @throws std::runtime_error  A line could not be written, for example because the disk is full.
  void close();

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace block_digest
