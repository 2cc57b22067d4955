#include "base/fork_guard.hpp"

#include <pthread.h>

#include <atomic>

namespace flotilla::base {

namespace {

std::atomic<std::uint32_t> generation{0};

void count_fork() noexcept { generation.fetch_add(1, std::memory_order_relaxed); }

// Registered when the library is loaded: before anybody can hold an object of it.
[[maybe_unused]] int const registered = ::pthread_atfork(nullptr, nullptr, &count_fork);

}  // namespace

std::uint32_t fork_generation() noexcept {
  // relaxed: only a fork changes it, in a child that has one thread
  return generation.load(std::memory_order_relaxed);
}

}  // namespace flotilla::base
