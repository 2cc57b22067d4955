// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files that belong to a process.

#include <string>
#include <string_view>
#include <utility>

namespace flotilla::compiler {

/// Closes a file descriptor. -1: there is none.
class file_handle {
 public:
  explicit file_handle(int descriptor) noexcept : descriptor_(descriptor) {}
  file_handle(file_handle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  file_handle& operator=(file_handle&&) = delete;
  ~file_handle() { close(); }
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  void close() noexcept;

 private:
  int descriptor_;
};

/// Reads from the current position to the end. @return whether it succeeded
[[nodiscard]] bool read_all(int descriptor, std::string& into);
/// @return whether it succeeded; errno says why not
[[nodiscard]] bool write_all(int descriptor, std::string_view bytes) noexcept;
/// Reads a whole file. @return whether it succeeded
[[nodiscard]] bool read_file(std::string const& path, std::string& into);

}  // namespace flotilla::compiler
