#pragma once
/// A regular file that is read once, from its start to its end.

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
  /// @return bytes read; fewer than `into` holds only at the end of the file
  /// @throws std::system_error  Reading failed.
  [[nodiscard]] std::size_t read(std::span<std::byte> into);

 private:
  int descriptor_;
};

}  // namespace block_digest
