#pragma once
/// The list of all blocks, as a text file.

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "digest.hpp"

namespace block_digest {

/// A path as a manifest shows it, and what its line begins with: as sha256sum does, a newline and a
/// backslash in a name are written "\n" and "\\", and the line then begins with a backslash.
struct manifest_name {
  explicit manifest_name(std::string_view path);
  std::string prefix;
  std::string shown;
};

/// Writes "DIGEST  OFFSET  LENGTH  PATH" lines: 64 hexadecimal digits, then bytes in decimal.
class manifest {
 public:
  /// @param path  The file to make; an existing one is replaced.
  /// @throws std::system_error  It cannot be made.
  explicit manifest(std::string const& path);

  void line(digest const& value, std::uint64_t offset, std::uint64_t length,
            manifest_name const& name);

  /// Writes out what is left.
  /// @throws std::runtime_error  Some line could not be written: the disk is full, say.
  void close();

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace block_digest
