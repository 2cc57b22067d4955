// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The line that a kernel's invalid access prints before its signal goes on. Everything here may be
// called in a signal handler.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace flotilla::base {

/// A text of bounded length. What does not fit is left out.
class fault_line {
 public:
  fault_line& add(std::string_view text) noexcept;
  fault_line& add(std::uint64_t number, unsigned radix = 10) noexcept;
  /// Writes the text and a newline to stderr, with one system call.
  void write() noexcept;

 private:
  std::array<char, 640> text_{};
  std::size_t size_ = 0;
};

/// Knows the tasks that run kernels.
class fault_describer {
 public:
  /// Adds a text such as "label 'step 3', device 0" to `line`, if such a kernel runs. Only reads
  /// memory, because a signal handler calls it.
  /// @param device  The driver's number of the CPU device.
  /// @return whether it has added a text
  virtual bool describe(std::string_view kernel, int device, fault_line& line) const noexcept = 0;

 protected:
  ~fault_describer() = default;
};

/// Adds a describer. If there are too many already, it is not used. Threads: any.
void add_fault_describer(fault_describer const& which) noexcept;
/// Removes a describer, and waits while a signal handler uses it.
void remove_fault_describer(fault_describer const& which) noexcept;
/// Asks the describers until one adds a text.
bool describe_fault(std::string_view kernel, int device, fault_line& line) noexcept;

}  // namespace flotilla::base
