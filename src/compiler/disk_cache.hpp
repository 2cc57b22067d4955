// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiled kernels on disk. Several processes may use one folder at the same time.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <flotilla/error/log.hpp>
#include <flotilla/kernel/compile.hpp>

#include "compiler/compiled_code.hpp"
#include "compiler/file_io.hpp"

namespace flotilla::compiler {

/// The folder of a cache. Every file is private to the user (mode 0600), and so is the folder
/// (0700): an entry is code that programs of the user run. The cache never throws because of the
/// file system. If it cannot be used, the log says why, and nothing is stored.
///
/// A process writes an entry to a temporary file and renames it, so a reader sees a whole entry or
/// none. If two processes make the same entry, the later one replaces an equal one.
class disk_cache {
 public:
  /// Opens the folder, and makes it if it does not exist.
  /// @param of_refusal  The level of the message if the cache cannot be used.
  explicit disk_cache(compile_options const& options, log_level of_refusal = log_level::warning);

  [[nodiscard]] bool is_usable() const noexcept { return folder_.is_open(); }
  /// The path of the folder; empty if the cache cannot be used.
  [[nodiscard]] std::string folder() const { return is_usable() ? path_ : std::string{}; }
  /// Why the cache cannot be used; empty if it can, or if the program does not want it.
  [[nodiscard]] std::string const& why_not() const noexcept { return why_not_; }

  /// The folder; empty if there is none.
  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  /// Whether entries can be stored. Without that, the cache can still be read.
  [[nodiscard]] bool is_writable() const noexcept;
  struct contents {
    std::size_t entries = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] contents count() const;

  /// Returns the entry, and notes its use. An entry that is damaged or not private is removed.
  [[nodiscard]] std::optional<compiled_code> find(std::string_view key) const;
  /// Stores an entry, and then removes the oldest entries beyond the limit.
  void store(std::string_view key, compiled_code const& code) const;

 private:
  [[nodiscard]] static file_handle open_folder(compile_options const& options, std::string& path,
                                               std::string& why_not);
  void limit_size(std::string_view kept) const;

  std::size_t max_bytes_;
  std::string path_;
  std::string why_not_;
  file_handle folder_;
};

}  // namespace flotilla::compiler
