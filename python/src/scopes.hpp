// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Notes about an object that end with a block.

#include <cstddef>

namespace flotilla::python {

/// Counts a call until the end of the block. The thread must hold the GIL at both ends.
class busy_call {
 public:
  explicit busy_call(std::size_t& calls) : calls_{calls} { ++calls_; }
  busy_call(busy_call const&) = delete;
  busy_call& operator=(busy_call const&) = delete;
  ~busy_call() { --calls_; }

 private:
  std::size_t& calls_;
};

/// Sets a flag until the end of the block.
class closing_scope {
 public:
  explicit closing_scope(bool& flag) noexcept : flag_{flag} { flag_ = true; }
  closing_scope(closing_scope const&) = delete;
  closing_scope& operator=(closing_scope const&) = delete;
  ~closing_scope() { flag_ = false; }

 private:
  bool& flag_;
};

}  // namespace flotilla::python
