// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pool of recycled operations. Each API thread takes operations from a thread-local cache.
// Device threads return chains of operations to a shared list. If a thread's cache is empty, the
// thread takes the whole shared list. No thread removes a single operation from the shared list, so
// the list has no ABA problem.

#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

/// Returns an operation whose `what` is std::monostate. Throws std::bad_alloc.
[[nodiscard]] operation* take_operation();

/// Gives the chain of operations from `first` to `last`, linked by `next`, back to the pool. In
/// each operation, `what` must be std::monostate.
void return_operations(operation* first, operation* last) noexcept;

/// Collects ended operations of one device thread and gives them back to the pool in chains.
class operation_recycler {
 public:
  void add(operation& ended) noexcept;
  /// Gives all collected operations back to the pool.
  void flush() noexcept;

 private:
  operation* first_ = nullptr;
  operation* last_ = nullptr;
  int count_ = 0;
};

}  // namespace flotilla::cpu_driver
