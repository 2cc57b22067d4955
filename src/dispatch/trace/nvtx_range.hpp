// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranges for tools that listen to NVTX, such as Nsight Systems.

#include <atomic>
#include <string>

namespace flotilla::dispatch {

/// A range of the domain "flotilla", on the calling thread, from its construction to its
/// destruction. Nsight Systems also shows it above the work that was launched in it.
///
/// Cost: one load and one branch if no tool is attached. NVTX finds the tool when the process first
/// calls `attach`.
class nvtx_range {
 public:
  /// @param text  Returns the text of the range, a std::string. Called only if a tool is attached.
  template <class Text>
  explicit nvtx_range(Text const& text) : is_open_(domain_.load(std::memory_order_relaxed)) {
    if (is_open_) [[unlikely]] { push(text()); }
  }
  nvtx_range(nvtx_range const&) = delete;
  nvtx_range& operator=(nvtx_range const&) = delete;
  ~nvtx_range() {
    if (is_open_) [[unlikely]] { pop(); }
  }

  /// Looks for a tool. Threads: any.
  static void attach() noexcept;

 private:
  static void push(std::string const& text) noexcept;
  static void pop() noexcept;

  static inline constinit std::atomic<void*> domain_{nullptr};  // null: no tool is attached
  bool const is_open_;
};

}  // namespace flotilla::dispatch
