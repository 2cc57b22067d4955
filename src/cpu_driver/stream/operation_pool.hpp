#pragma once
// Recycled operations. API threads take them from a cache of their own, device threads return them
// in chains. The shared list is only pushed to, or emptied as a whole, so it has no ABA problem.

#include "cpu_driver/stream/operation.hpp"

namespace flotilla::cpu_driver {

/// An operation whose `what` is empty. Throws std::bad_alloc.
[[nodiscard]] operation* take_operation();

/// Returns the chain first .. last, linked by `next`, each with an empty `what`.
void return_operations(operation* first, operation* last) noexcept;

/// Ended operations that one device thread has yet to return.
class operation_recycler {
 public:
  void add(operation& ended) noexcept;
  /// Returns everything added.
  void flush() noexcept;

 private:
  operation* first_ = nullptr;
  operation* last_ = nullptr;
  int count_ = 0;
};

}  // namespace flotilla::cpu_driver
