// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/runtime_registry.hpp"

#include <atomic>

#include "base/log.hpp"
#include "dispatch/runtime/runtime_state.hpp"

namespace flotilla::dispatch::runtime_registry {

namespace {

/// An entry for one runtime. Entries are never freed, because readers hold no lock. After a runtime
/// is gone, another runtime may reuse the entry.
struct entry {
  std::atomic<std::uint64_t> number{0};  // 0: free
  std::atomic<runtime_state*> runtime{nullptr};
  entry* next = nullptr;
};

std::atomic<entry*> first{nullptr};

constexpr std::uint64_t taken = ~std::uint64_t{0};  // number of an entry that is being filled

entry& free_entry() {
  for (entry* each = first.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    std::uint64_t expected = 0;
    if (each->number.compare_exchange_strong(expected, taken, std::memory_order_relaxed)) {
      return *each;
    }
  }
  auto* const made = new entry;
  made->number.store(taken, std::memory_order_relaxed);
  made->next = first.load(std::memory_order_relaxed);
  // release: pairs with the acquire loads of `first`
  while (!first.compare_exchange_weak(made->next, made, std::memory_order_release,
                                      std::memory_order_relaxed)) {}
  return *made;
}

entry* find_entry(std::uint64_t number) noexcept {
  entry* each = first.load(std::memory_order_acquire);
  while (each != nullptr && each->number.load(std::memory_order_acquire) != number) {
    each = each->next;
  }
  return each;
}

}  // namespace

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void add(runtime_state& runtime) {
  entry& own = free_entry();
  own.runtime.store(&runtime, std::memory_order_relaxed);
  own.number.store(runtime.number, std::memory_order_release);  // pairs with the load in find_entry
}

void remove(runtime_state& runtime) noexcept {
  if (entry* const own = find_entry(runtime.number)) {
    own->number.store(0, std::memory_order_release);
  }
}

runtime_state* find(std::uint64_t number) noexcept {
  if (number == 0) { return nullptr; }  // a free entry has the number 0
  entry const* const found = find_entry(number);
  return found == nullptr ? nullptr : found->runtime.load(std::memory_order_relaxed);
}

runtime_state* find_for_destructor(std::uint64_t number, char const* object) noexcept {
  runtime_state* const found = find(number);
  if (found != nullptr && !found->has_ended()) { return found; }
  base::log_format(log_level::warning,
                   "%s was destroyed after its runtime, which may have freed its memory "
                   "already; destroy it before the runtime",
                   object);
  return nullptr;
}

}  // namespace flotilla::dispatch::runtime_registry
