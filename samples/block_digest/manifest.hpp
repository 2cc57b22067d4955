#pragma once
/// The list of all blocks, as a text file.

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "digest.hpp"

namespace block_digest {

/// A path as a manifest shows it, and the prefix of its line. As in sha256sum, a newline and a
/// backslash in a name are written "\n" and "\\", and the line then starts with a backslash.
struct manifest_name {
  explicit manifest_name(std::string_view path);
  std::string prefix;
  std::string shown;
};

/// Writes "DIGEST  OFFSET  LENGTH  PATH" lines: 64 hexadecimal digits, then bytes in decimal.
class manifest {
 public:
  /// @param path  The file to create; an existing file is replaced.
  /// @throws std::system_error  The file cannot be created.
  explicit manifest(std::string const& path);

  void line(digest const& value, std::uint64_t offset, std::uint64_t length,
            manifest_name const& name);

  /// Flushes and closes the file.
  /// @throws std::runtime_error  Some line could not be written, perhaps because the disk is full.
  void close();

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace block_digest
