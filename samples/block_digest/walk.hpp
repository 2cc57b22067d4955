#pragma once
/// Finds the files below a path, in a fixed order.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace block_digest {

/// Finds regular files: a file itself, or all files below a folder in byte order of their paths (as
/// `LC_ALL=C sort` orders them). The name of a file below a folder is the folder as given, "/", and
/// the path from there. Symbolic links are not followed.
///
/// Memory: the entries of the folders that lead to the current file, never all files.
class walk {
 public:
  using on_file = std::function<void(std::string const& path)>;
  using on_failure = std::function<void(std::string_view path, std::string_view why)>;

  walk(on_file file, on_failure failure) : file_{std::move(file)}, failure_{std::move(failure)} {}

  /// Calls `file` for each file, and `failure` for each folder that cannot be read, and if `path`
  /// itself is neither a file nor a folder.
  void visit(std::string const& path);

  /// The number of entries that are neither files nor folders: links, pipes, sockets, devices.
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }

 private:
  void visit_folder(std::string const& folder);

  on_file file_;
  on_failure failure_;
  std::uint64_t skipped_ = 0;
};

}  // namespace block_digest
