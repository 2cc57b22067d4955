// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Regular files that are read once, from start to end.

#include <cstddef>
#include <span>
#include <string>

namespace block_digest {

class input_file {
 public:
  /// @throws std::system_error  The file cannot be opened, or is not a regular file.
  explicit input_file(std::string const& path);
  ~input_file();
  input_file(input_file const&) = delete;
  input_file& operator=(input_file const&) = delete;

  /// Reads until `into` is full or the file ends.
  /// @return The number of bytes read. It is less than `into.size()` only at the end of the file.
  /// @throws std::system_error  The file could not be read.
  [[nodiscard]] std::size_t read(std::span<std::byte> into);

 private:
  int descriptor_;
};

}  // namespace block_digest
