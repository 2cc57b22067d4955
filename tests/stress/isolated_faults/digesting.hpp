// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A thread that digests files on one device, again and again, and checks every digest.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>

namespace flotilla::test {

/// Makes some files in a folder of its own, and computes the SHA-256 digest of each of their blocks
/// with libcrypto. A thread reads the files and digests their blocks on `device`. Ends the thread
/// and removes the files when it is destroyed.
class digesting {
 public:
  /// `digest_blocks` is the kernel `sha256_blocks`.
  using digest_kernel = kernel<std::byte const*, unsigned long long, unsigned long long,
                               unsigned long long, std::byte*>;
  digesting(runtime& rt, device_ordinal device, digest_kernel digest_blocks);
  ~digesting();
  digesting(digesting const&) = delete;
  digesting& operator=(digesting const&) = delete;

  /// Returns how many bytes a second were digested since the last call.
  double rate();

 private:
  struct file {
    std::filesystem::path path;
    std::size_t bytes;
    std::vector<std::byte> digests;  // of all blocks
  };
  void make_files();
  void run();
  bool digest(file const& each);

  runtime& rt_;
  device_ordinal device_;
  digest_kernel digest_blocks_;
  std::filesystem::path folder_;
  std::vector<file> files_;
  host_buffer<std::byte> contents_, found_;
  device_buffer<std::byte> device_contents_, device_found_;
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> done_{0};
  std::uint64_t last_done_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::thread thread_;
};

}  // namespace flotilla::test
