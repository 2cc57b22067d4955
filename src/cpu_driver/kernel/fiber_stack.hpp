// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory for a fiber's stack, with a guard page below it.

#include <cstddef>

namespace flotilla::cpu_driver {

class fiber_stack {
 public:
  /// Rounds `bytes` up to whole pages. The caller must check `valid()`, which is false if the
  /// allocation failed. If the system allows no more mappings, the stack has no guard page.
  explicit fiber_stack(std::size_t bytes) noexcept;
  ~fiber_stack();
  fiber_stack(fiber_stack const&) = delete;
  fiber_stack& operator=(fiber_stack const&) = delete;

  [[nodiscard]] bool valid() const noexcept { return mapping_ != nullptr; }
  [[nodiscard]] void* bottom() const noexcept;  // lowest usable address
  [[nodiscard]] void* top() const noexcept;     // one past the highest usable address
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::size_t offset_;  // distance from the top of the stack to the end of the mapping
};

}  // namespace flotilla::cpu_driver
