// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the files below a path, in a fixed order.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace block_digest {

/// Finds regular files. The argument of `visit` is a file or a folder. A folder means all files
/// below it, in byte order of their paths, which is the order of `LC_ALL=C sort`. These paths begin
/// with the folder as it was given. Symbolic links are not followed.
///
/// Memory: the entries of the folders that contain the current file. The list of all files is never
/// in memory.
class walk {
 public:
  using on_file = std::function<void(std::string const& path)>;
  using on_failure = std::function<void(std::string_view path, std::string_view why)>;

  walk(on_file file, on_failure failure) : file_{std::move(file)}, failure_{std::move(failure)} {}

  /// Calls `file` for each file, and `failure` for each entry that cannot be read. Also calls
  /// `failure` if `path` itself is neither a file nor a folder.
  void visit(std::string const& path);

  /// Returns the number of entries that are neither files nor folders, such as links and pipes.
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }

 private:
  void visit_folder(std::string const& folder);

  on_file file_;
  on_failure failure_;
  std::uint64_t skipped_ = 0;
};

}  // namespace block_digest
