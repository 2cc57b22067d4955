// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words with which devices tell each other how far they are.

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "dispatch/lane/registered_memory.hpp"

namespace flotilla::dispatch {

/// Words in host memory that every device of the runtime reads and writes in place, isolated
/// devices included. Each word has a cache line of its own, and only grows. Threads: any.
class progress_words {
 public:
  static constexpr std::size_t stride = 64;  // bytes from one word to the next

  /// Consecutive words, one for each device of the runtime. All are 0 when the row is taken.
  struct row {
    std::byte* host = nullptr;
    CUdeviceptr device = 0;  // the address for all devices

    [[nodiscard]] std::uint64_t& word(std::uint32_t index) const noexcept {
      return *reinterpret_cast<std::uint64_t*>(host + index * stride);
    }
    [[nodiscard]] CUdeviceptr address(std::uint32_t index) const noexcept {
      return device + index * stride;
    }
  };

  explicit progress_words(std::size_t devices) noexcept
      : bytes_of_row_(devices * stride), bytes_of_slab_(std::max(min_slab_bytes, bytes_of_row_)) {}

  /// Takes a row. If there is none, registers more memory, so the context, which must be that of
  /// the host device (runtime_parts::host_device), must be current. Only the holder of its lease
  /// may call the function.
  /// @param device  The device of the context, which unregisters the memory.
  /// @throws driver_error, std::bad_alloc
  [[nodiscard]] row take(context::context_handle const& context, unsigned device);
  /// Gives a row back. No device may use it any more.
  void give_back(row const& used) noexcept;
  /// Raises `word` to `value`, unless it is higher. Call it when no device writes the word.
  static void raise(std::uint64_t& word, std::uint64_t value) noexcept;
  /// Lets all devices continue that wait for a word, now or later. Call it when the runtime is
  /// poisoned.
  void raise_all() noexcept;
  /// Unregisters the memory that `device` has registered. Call it with the context current, when
  /// the runtime ends.
  void unregister(unsigned device) noexcept;

 private:
  struct slab {
    unsigned device;
    registered_memory memory;
  };
  static constexpr std::size_t min_slab_bytes = std::size_t{1} << 16;
  // Streams compare modulo 2^64, as signed numbers.
  static constexpr std::uint64_t above_all_values = std::uint64_t{1} << 62;

  /// Registers more memory if there is no row.
  void add_slab(context::context_handle const& context, unsigned device);

  std::size_t const bytes_of_row_;
  std::size_t const bytes_of_slab_;
  std::mutex mutex_;  // never held during a driver call, because `raise_all` needs it
  std::vector<std::unique_ptr<slab>> slabs_;
  std::vector<row> free_;  // has room for all rows, because `give_back` must not allocate
  bool all_raised_ = false;
};

}  // namespace flotilla::dispatch
