// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that an owner and its workers share: a sealed memfd without a name in any folder.

#include <cstddef>

namespace flotilla::isolated {

/// A file descriptor that closes itself.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) noexcept : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(other.release()) {}
  descriptor& operator=(descriptor&& other) noexcept;
  ~descriptor();

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] bool valid() const noexcept { return number_ >= 0; }
  int release() noexcept;

 private:
  int number_ = -1;
};

/// Makes memory of this size that nobody can shrink, grow or unseal. Pages cost nothing until they
/// are used. @throws driver_error  The system refuses.
[[nodiscard]] descriptor make_sealed_memory(char const* name, std::size_t bytes);
/// Whether the descriptor is such memory, of exactly this size. It may have more seals.
[[nodiscard]] bool is_sealed_memory(int number, std::size_t bytes) noexcept;

/// A mapping that ends with its object.
class mapping {
 public:
  mapping() = default;
  /// Maps the memory for reading and writing. `at` may be null. @throws driver_error
  mapping(descriptor const& of, std::size_t bytes, void* at = nullptr);
  mapping(mapping&& other) noexcept;
  mapping& operator=(mapping&& other) noexcept;
  ~mapping();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace flotilla::isolated
