#include "cpu_driver/operation_pool.hpp"

#include <atomic>
#include <utility>

namespace flotilla::cpu_driver {
namespace {

std::atomic<operation*> returned{nullptr};

// Trivially destructible, so that a call from a late destructor of the thread still finds it
// usable.
thread_local operation* cache = nullptr;

struct cache_guard {
  ~cache_guard() {
    operation* const first = std::exchange(cache, nullptr);
    if (first == nullptr) { return; }
    operation* last = first;
    while (last->next != nullptr) { last = last->next; }
    give_operations(first, last);
  }
};

}  // namespace

operation* take_operation() {
  if (cache == nullptr) {
    // acquire: pairs with the release in give_operations()
    cache = returned.exchange(nullptr, std::memory_order_acquire);
    if (cache == nullptr) { return new operation; }
    thread_local cache_guard guard;
    static_cast<void>(guard);
  }
  operation* const taken = cache;
  cache = taken->next;
  taken->next = nullptr;
  return taken;
}

void give_operations(operation* first, operation* last) noexcept {
  operation* head = returned.load(std::memory_order_relaxed);
  do {
    last->next = head;
    // release: pairs with the acquire in take_operation()
  } while (!returned.compare_exchange_weak(head, first, std::memory_order_release,
                                           std::memory_order_relaxed));
}

}  // namespace flotilla::cpu_driver
