#include "cpu_driver/stream/operation_pool.hpp"

#include <atomic>
#include <utility>

namespace flotilla::cpu_driver {
namespace {

constexpr int chain_length = 32;  // number of operations that a device thread gives back at once

std::atomic<operation*> returned{nullptr};

// A plain pointer without a destructor, because destructors of other thread_local objects may use
// the cache when a thread ends.
thread_local operation* cache = nullptr;

struct cache_guard {
  ~cache_guard() {
    operation* const first = std::exchange(cache, nullptr);
    if (first == nullptr) { return; }
    operation* last = first;
    while (last->next != nullptr) { last = last->next; }
    return_operations(first, last);
  }
};

}  // namespace

operation* take_operation() {
  if (cache == nullptr) {
    // acquire: pairs with the release in return_operations()
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

void return_operations(operation* first, operation* last) noexcept {
  operation* head = returned.load(std::memory_order_relaxed);
  do {
    last->next = head;
    // release: pairs with the acquire in take_operation()
  } while (!returned.compare_exchange_weak(head, first, std::memory_order_release,
                                           std::memory_order_relaxed));
}

void operation_recycler::add(operation& ended) noexcept {
  ended.what.emplace<std::monostate>();
  ended.next = first_;
  first_ = &ended;
  if (last_ == nullptr) { last_ = &ended; }
  if (++count_ >= chain_length) { flush(); }
}

void operation_recycler::flush() noexcept {
  if (first_ == nullptr) { return; }
  return_operations(first_, last_);
  first_ = last_ = nullptr;
  count_ = 0;
}

}  // namespace flotilla::cpu_driver
