// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory directly from the system.

#include <cstddef>
#include <memory>

namespace flotilla::base {

/// A range of memory that is all zeros at first and aligned to a page. The system provides each
/// page at its first use, so a large range of which little is used costs little.
class mapped_memory {
 public:
  mapped_memory() = default;
  /// @throws std::bad_alloc
  explicit mapped_memory(std::size_t bytes);

  /// Returns the address of the range, or null if there is none.
  [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }

 private:
  struct unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, unmap> memory_;
};

}  // namespace flotilla::base
