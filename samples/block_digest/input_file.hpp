// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Regular files, which several threads may read at the same time.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <system_error>

#include "block_batch.hpp"

namespace block_digest {

/// A file is opened when it is first read, and closed by the destructor.
class input_file {
 public:
  explicit input_file(std::string const& path);
  ~input_file();
  input_file(input_file const&) = delete;
  input_file& operator=(input_file const&) = delete;

  struct outcome {
    std::size_t bytes;      ///< number of bytes read
    std::error_code error;  ///< why no more bytes were read; none at the end of the file
  };
  /// Reads until `into` is full or the file ends.
  /// Threads: any. All of them read the same file, even if the path names another file meanwhile.
  [[nodiscard]] outcome read_at(std::uint64_t offset, std::span<std::byte> into);

  [[nodiscard]] shared_path const& path() const noexcept { return path_; }

 private:
  [[nodiscard]] std::error_code open();

  shared_path path_;
  std::once_flag opened_;
  int descriptor_ = -1;         // written once, by the thread that opens the file
  std::error_code open_error_;  // the same
};

}  // namespace block_digest
