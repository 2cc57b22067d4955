#pragma once
// Recycled operations. API threads take from a cache of their own; device threads give back in
// chains. The shared list is only ever pushed to or emptied as a whole, so that it cannot suffer
// from ABA.

#include "cpu_driver/operation.hpp"

namespace flotilla::cpu_driver {

/// An operation whose `what` is empty. Throws std::bad_alloc.
[[nodiscard]] operation* take_operation();

/// Gives back the chain first .. last, linked by `next`, each with an empty `what`.
void give_operations(operation* first, operation* last) noexcept;

}  // namespace flotilla::cpu_driver
