// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A control: chunks that go to the device, through a kernel and back, in streams by hand.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <span>

#include "cached_fixture.hpp"
#include "plain_device.hpp"

namespace flotilla::bench {

/// The size of a pipeline: the row and its control run the same.
struct pipeline_size {
  static constexpr std::size_t words = 8192;  // of a chunk: 64 KiB
  static constexpr unsigned blocks = 32, threads = 256;
  std::size_t chunks = 0;
  bool operator==(pipeline_size const&) const = default;

  [[nodiscard]] std::size_t all_words() const noexcept { return chunks * words; }
};

class plain_pipeline final : public cached_fixture {
 public:
  using options = pipeline_size;
  explicit plain_pipeline(options const& wanted);

  /// Adds `increment` to all words on their way.
  void run(unsigned long long increment);
  /// Checks what the last run has copied to the host. @throws std::runtime_error
  void check_result(unsigned long long increment) const;

  options const created_with;

 private:
  // Chunk i uses stream i modulo 8: while one chunk is copied, the kernels of others run.
  static constexpr std::size_t streams = 8;

  plain_device device_;
  std::array<CUstream, streams> streams_{};
  CUfunction kernel_ = nullptr;
  std::span<unsigned long long> host_source_, host_destination_;
  CUdeviceptr chunks_ = 0;
};

}  // namespace flotilla::bench
