// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The first device without flotilla's runtime, for controls: a context, the kernels in
// bench_kernels, memory and streams.

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "context/context_handle.hpp"

namespace flotilla::bench {

/// Everything that the functions make exists until the end of this object.
class plain_device {
 public:
  /// Makes the context current on the calling thread until the end of the block.
  class [[nodiscard]] scope {
   public:
    explicit scope(plain_device const& device);
    ~scope();
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;

   private:
    driver::table const& api_;
  };

  plain_device();
  ~plain_device();
  plain_device(plain_device const&) = delete;
  plain_device& operator=(plain_device const&) = delete;

  // The context must be current for all functions below. All of them throw driver_error.

  [[nodiscard]] CUfunction kernel(char const* name) const;
  [[nodiscard]] CUstream make_stream();
  [[nodiscard]] CUdeviceptr allocate(std::size_t bytes);
  [[nodiscard]] void* allocate_pinned(std::size_t bytes);

  void launch(CUfunction kernel, unsigned blocks, unsigned threads, CUstream stream,
              void** arguments) const;
  void synchronize(CUstream stream) const;
  void synchronize() const;

  /// Writes the words of an array with this seed (see words.hpp), and waits.
  void write_words(CUdeviceptr words, std::size_t count, unsigned long long seed);
  /// Counts the words that differ from those of an array with this seed.
  /// @throws std::runtime_error  There are such words. The message names `who`.
  void check_words(CUdeviceptr words, std::size_t count, unsigned long long seed, char const* who);

  [[nodiscard]] driver::table const& api() const noexcept { return *api_; }

 private:
  std::shared_ptr<driver::table const> api_;
  std::unique_ptr<context::context_handle> context_;
  CUlibrary library_ = nullptr;
  std::vector<void*> pinned_;
  CUdeviceptr wrong_words_ = 0;
};

}  // namespace flotilla::bench
