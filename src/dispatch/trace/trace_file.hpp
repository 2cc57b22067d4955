// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The file of a trace.

#include <cstdint>
#include <filesystem>
#include <string>

namespace flotilla::dispatch {

/// Writes without buffering, because the caller writes large pieces.
class trace_file {
 public:
  /// Creates or empties the file. @throws trace_failed
  explicit trace_file(std::filesystem::path path);
  trace_file(trace_file const&) = delete;
  trace_file& operator=(trace_file const&) = delete;
  ~trace_file();

  /// Writes all of `bytes`. After an error, it writes nothing more. @return whether no error has
  /// occurred so far.
  bool write(std::string const& bytes) noexcept;
  /// Closes the file, which can reveal an error.
  void close() noexcept;

  [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }
  /// The first error, an errno; 0: none.
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }

 private:
  std::filesystem::path const path_;
  int descriptor_ = -1;
  int error_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace flotilla::dispatch
