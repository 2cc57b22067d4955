// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "stress/no_memory/allocations.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#include <flotilla/error/error.hpp>

#include "support/child.hpp"

namespace flotilla::test {

constinit countdown allocations;

bool ends_or_reports(std::function<void()> const& action) {
  try {
    action();
    return true;
  } catch (std::bad_alloc const&) { return true; } catch (poisoned const& why) {
    return why.status() == driver_status::out_of_memory;
  } catch (driver_error const& why) {
    return why.status() == driver_status::out_of_memory;
  } catch (error const&) {
    return true;  // a task or a dependent task failed because the driver got no memory
  }
}

void for_each_allocation(std::function<int(long n)> const& child, long first, long step) {
  constexpr int enough = 3;  // workers allocate too, so the number of allocations varies
  int beyond = 0;
  for (long n = first; beyond < enough; n += step) {
    int const ended = forked([&] { return child(n); });
    ASSERT_TRUE(ended == survived || ended == not_reached)
        << "allocation " << n << ": status " << ended
        << (ended > 256 ? ": the signal with the number (status - 256) ended the child" : "");
    beyond += ended == not_reached ? 1 : 0;
  }
}

}  // namespace flotilla::test

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (!flotilla::test::allocations.allows_one()) { return nullptr; }
  if (alignment <= alignof(std::max_align_t)) { return std::malloc(bytes != 0 ? bytes : 1); }
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* const made = allocate(bytes, alignment)) { return made; }
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 0); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, 0); }
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept { return allocate(bytes, 0); }
void* operator new[](std::size_t bytes, std::nothrow_t const&) noexcept {
  return allocate(bytes, 0);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
