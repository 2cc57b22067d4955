// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: how many allocations does a task make in the steady state?
//
// The operators new and delete below also replace the operators that the loaded libraries call.

#include <atomic>
#include <cstdlib>
#include <new>

#include "allocations.hpp"
#include "bench_suite.hpp"
#include "runtime_fixture.hpp"

namespace {

std::atomic<bool> counting{false};
std::atomic<std::int64_t> counted{0};

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  // relaxed: only a count, which is read after the counted work has ended
  if (counting.load(std::memory_order_relaxed)) { counted.fetch_add(1, std::memory_order_relaxed); }
  std::size_t const at_least_one = bytes == 0 ? 1 : bytes;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) { return std::malloc(at_least_one); }
  return std::aligned_alloc(alignment, (at_least_one + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = allocate(bytes, alignment);
  if (memory == nullptr) { throw std::bad_alloc{}; }
  return memory;
}

}  // namespace

// All other forms of operator new and delete call these.
void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace flotilla::bench {

void count_allocations() noexcept {
  counted = 0;
  counting = true;
}

std::int64_t counted_allocations() noexcept {
  counting = false;
  return counted;
}

void add_allocations(bench_suite& suite) {
  std::int64_t const tasks = suite.amount().flood;
  suite.measure(
      "flotilla, allocations", {.who = "flotilla", .what = "allocations", .backlog = tasks},
      [=](figure&) {
        auto& fixture = get_fixture<runtime_fixture>({});
        auto const flood = [&] {
          for (std::int64_t i = 0; i < tasks; ++i) {
            static_cast<void>(fixture.rt.submit(fixture.null_launch));
          }
          fixture.rt.wait_idle();
        };
        flood();  // warm-up: queues grow to their final size
        count_allocations();
        flood();
        return static_cast<double>(counted_allocations()) / static_cast<double>(tasks);
      },
      "allocations");
  suite.compare({.id = "allocations",
                 .subject = "flotilla, allocations",
                 .control = "none",
                 .max_value = 0,
                 .for_gpus = false});
}

}  // namespace flotilla::bench
