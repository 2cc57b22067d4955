#pragma once
/// Which files a path means, and in which order.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace block_digest {

/// Finds the regular files that paths mean: a file itself, or all files below a folder, in byte
/// order of their paths (as `LC_ALL=C sort` orders them). A file below a folder is named by the
/// folder as given, "/", and its path from there. Symbolic links are not followed.
///
/// Holds the entries of the folders that lead to the current file, never all files.
class walk {
 public:
  using on_file = std::function<void(std::string const& path)>;
  using on_failure = std::function<void(std::string_view path, std::string_view why)>;

  walk(on_file file, on_failure failure) : file_{std::move(file)}, failure_{std::move(failure)} {}

  /// Calls back for each file that `path` means, and for each folder that cannot be read; also
  /// where `path` itself is neither a file nor a folder.
  void visit(std::string const& path);

  /// How many entries of folders were neither files nor folders: links, pipes, sockets, devices.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  void visit_folder(std::string const& folder);

  on_file file_;
  on_failure failure_;
  std::uint64_t left_out_ = 0;
};

}  // namespace block_digest
