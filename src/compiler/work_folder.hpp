// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder in which a compiler works.

#include <string>
#include <string_view>

namespace flotilla::compiler {

/// A new folder in TMPDIR or /tmp that only the user can use. It is removed with its contents.
class work_folder {
 public:
  /// @throws error  The folder cannot be made.
  work_folder();
  work_folder(work_folder const&) = delete;
  work_folder& operator=(work_folder const&) = delete;
  ~work_folder();

  [[nodiscard]] std::string path_of(std::string_view name) const;
  /// Writes a file. `name` may have folders, which are made.
  /// @throws error  The file cannot be written.
  void write(std::string_view name, std::string_view text) const;

 private:
  std::string path_;
};

}  // namespace flotilla::compiler
