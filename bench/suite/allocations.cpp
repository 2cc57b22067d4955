// Question: how many allocations does a task make, once everything has been used before?
//
// operator new is replaced in this program, also for the libraries it loads.

#include <atomic>
#include <cstdlib>
#include <new>

#include "allocations.hpp"
#include "fleet.hpp"
#include "suite.hpp"

namespace {

std::atomic<bool> counting{false};
std::atomic<std::int64_t> counted{0};

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  // relaxed: a count, read when whoever allocated has been waited for
  if (counting.load(std::memory_order_relaxed)) { counted.fetch_add(1, std::memory_order_relaxed); }
  std::size_t const some = bytes == 0 ? 1 : bytes;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) { return std::malloc(some); }
  return std::aligned_alloc(alignment, (some + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const got = allocate(bytes, alignment);
  if (got == nullptr) { throw std::bad_alloc{}; }
  return got;
}

}  // namespace

// The other forms call these, but for those of arrays and nothrow with alignment, which do, too.
void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }

namespace flotilla::bench {

void count_allocations() noexcept {
  counted = 0;
  counting = true;
}

std::int64_t counted_allocations() noexcept {
  counting = false;
  return counted;
}

void add_allocations(suite& to) {
  std::int64_t const tasks = to.amount().flood;
  to.measure(
      "flotilla, allocations", {.who = "flotilla", .what = "allocations", .backlog = tasks},
      [=](figure&) {
        auto& ships = rig_for<fleet>({});
        auto const flood = [&] {
          for (std::int64_t i = 0; i < tasks; ++i) {
            static_cast<void>(ships.rt.submit(ships.null));
          }
          ships.rt.wait_idle();
        };
        flood();  // with this very rig: its queues have grown to what they need
        count_allocations();
        flood();
        return static_cast<double>(counted_allocations()) / static_cast<double>(tasks);
      },
      "allocations");
  to.compare({.id = "allocations",
              .subject = "flotilla, allocations",
              .control = "none",
              .most = 0,
              .for_gpus = false});
}

}  // namespace flotilla::bench
