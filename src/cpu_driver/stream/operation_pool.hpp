#pragma once
// The pool of recycled operations. Each API thread takes operations from a thread-local cache.
// Device threads return chains of operations to a shared list. A thread with an empty cache takes
// the whole shared list, so the list has no ABA problem.

#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

/// Returns an operation whose `what` is std::monostate. Throws std::bad_alloc.
[[nodiscard]] operation* take_operation();

/// Gives the operations first .. last, linked by `next`, back to the pool. Each `what` must be
/// std::monostate.
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
