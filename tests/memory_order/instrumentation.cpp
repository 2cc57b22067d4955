// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The functions that code compiled with -fsanitize=thread calls, and the functions of mutexes,
// condition variables, copies and allocations that the code under test uses.

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "memory_order/engine.hpp"

namespace flotilla::test::memory_order {
namespace {

int plain_order(int order) { return order & 0xf; }  // without the bits for transactions

template <class T>
T load(T const volatile* at, int order, void const* caller) {
  engine& all = engine::instance();
  if (!all.is_observed()) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }
  engine::pause const here;
  order = all.order_at(caller, 'l', false, plain_order(order));
  auto* const address = const_cast<T const*>(at);
  all.yield({'l', reinterpret_cast<std::uintptr_t>(at), order == seq_cst});
  int const where = all.locate(address, *address);
  std::uint64_t const value = all.shared().load(all.thread(), where, order);
  all.note('l', reinterpret_cast<std::uintptr_t>(at), value, order);
  return static_cast<T>(value);
}

template <class T>
void store(T volatile* at, T value, int order, void const* caller) {
  engine& all = engine::instance();
  if (!all.is_observed()) { return __atomic_store_n(at, value, __ATOMIC_SEQ_CST); }
  engine::pause const here;
  order = all.order_at(caller, 's', false, plain_order(order));
  auto* const address = const_cast<T*>(at);
  all.yield({'s', reinterpret_cast<std::uintptr_t>(at), order == seq_cst});
  int const where = all.locate(address, *address);
  all.shared().store(all.thread(), where, value, order);
  all.note('s', reinterpret_cast<std::uintptr_t>(at), value, order);
  *address = static_cast<T>(all.shared().last(where));
}

/// Exchanges the value, if it is `*expected` or if `expected` is null.
template <class T, class Change>
T exchange(T volatile* at, T const* expected, Change&& change, int order, int otherwise,
           void const* caller) {
  engine& all = engine::instance();
  engine::pause const here;
  order = all.order_at(caller, 'x', false, plain_order(order));
  otherwise = all.order_at(caller, 'x', true, plain_order(otherwise));
  auto* const address = const_cast<T*>(at);
  all.yield({'x', reinterpret_cast<std::uintptr_t>(at), order == seq_cst || otherwise == seq_cst});
  int const where = all.locate(address, *address);
  std::uint64_t const before = all.shared().exchange(
      all.thread(), where,
      [&](std::uint64_t value) {
        return expected == nullptr || static_cast<T>(value) == *expected;
      },
      [&](std::uint64_t value) {
        return std::uint64_t{static_cast<T>(change(static_cast<T>(value)))};
      },
      order, otherwise);
  all.note('x', reinterpret_cast<std::uintptr_t>(at), before, order);
  *address = static_cast<T>(all.shared().last(where));
  return static_cast<T>(before);
}

void fence(int order, void const* caller) {
  engine& all = engine::instance();
  if (!all.is_observed()) { return; }
  engine::pause const here;
  order = all.order_at(caller, 'f', false, plain_order(order));
  if (order == seq_cst) { all.yield({'f', 0, true}); }
  all.shared().fence(all.thread(), order);
  all.note('f', 0, 0, order);
}

void access(void const* at, std::size_t bytes, bool writes) {
  engine& all = engine::instance();
  if (!all.is_observed()) { return; }
  engine::pause const here;
  all.access(at, bytes, writes);
}

template <class Function>
Function* real(char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace flotilla::test::memory_order

namespace mo = flotilla::test::memory_order;

#define CALLER __builtin_return_address(0)

#define EXCHANGE(bits, type, name, result)                                                      \
  type __tsan_atomic##bits##_##name(type volatile* at, type value, int order) {                 \
    if (!mo::engine::instance().is_observed()) {                                                \
      type before = *at;                                                                        \
      *at = static_cast<type>(result);                                                          \
      return before;                                                                            \
    }                                                                                           \
    return mo::exchange<type>(                                                                  \
        at, nullptr, [value](type before) { return static_cast<void>(before), result; }, order, \
        mo::relaxed, CALLER);                                                                   \
  }

#define COMPARE_EXCHANGE(bits, type, name)                                                   \
  int __tsan_atomic##bits##_##name(type volatile* at, type* expected, type value, int order, \
                                   int otherwise) {                                          \
    type const wanted = *expected;                                                           \
    type before = *at;                                                                       \
    if (mo::engine::instance().is_observed()) {                                              \
      before = mo::exchange<type>(                                                           \
          at, &wanted, [value](type) { return value; }, order, otherwise, CALLER);           \
    } else if (before == wanted) {                                                           \
      *at = value;                                                                           \
    }                                                                                        \
    *expected = before;                                                                      \
    return before == wanted;                                                                 \
  }

#define ATOMICS(bits, type)                                                    \
  type __tsan_atomic##bits##_load(type const volatile* at, int order) {        \
    return mo::load(at, order, CALLER);                                        \
  }                                                                            \
  void __tsan_atomic##bits##_store(type volatile* at, type value, int order) { \
    mo::store(at, value, order, CALLER);                                       \
  }                                                                            \
  EXCHANGE(bits, type, exchange, value)                                        \
  EXCHANGE(bits, type, fetch_add, before + value)                              \
  EXCHANGE(bits, type, fetch_sub, before - value)                              \
  EXCHANGE(bits, type, fetch_and, before& value)                               \
  EXCHANGE(bits, type, fetch_or, before | value)                               \
  EXCHANGE(bits, type, fetch_xor, before ^ value)                              \
  COMPARE_EXCHANGE(bits, type, compare_exchange_strong)                        \
  COMPARE_EXCHANGE(bits, type, compare_exchange_weak)

#define PLAIN(bytes)                                                            \
  void __tsan_read##bytes(void* at) { mo::access(at, bytes, false); }           \
  void __tsan_write##bytes(void* at) { mo::access(at, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* at) { mo::access(at, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* at) { mo::access(at, bytes, true); }

extern "C" {
// NOLINTBEGIN: the names are those of the compiler
ATOMICS(8, std::uint8_t)
ATOMICS(16, std::uint16_t)
ATOMICS(32, std::uint32_t)
ATOMICS(64, std::uint64_t)
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
void __tsan_atomic_thread_fence(int order) { mo::fence(order, CALLER); }
void __tsan_atomic_signal_fence(int) {}
void __tsan_read_range(void* at, std::size_t bytes) { mo::access(at, bytes, false); }
void __tsan_write_range(void* at, std::size_t bytes) { mo::access(at, bytes, true); }
void __tsan_vptr_update(void** at, void*) { mo::access(at, sizeof *at, true); }
void __tsan_vptr_read(void** at) { mo::access(at, sizeof *at, false); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}

// The linker makes the code under test call these (--wrap).
void* __real_memcpy(void* to, void const* from, std::size_t bytes);
void* __real_memmove(void* to, void const* from, std::size_t bytes);
void* __real_memset(void* to, int value, std::size_t bytes);
void* __wrap_memcpy(void* to, void const* from, std::size_t bytes) {
  mo::access(from, bytes, false);
  mo::access(to, bytes, true);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, void const* from, std::size_t bytes) {
  mo::access(from, bytes, false);
  mo::access(to, bytes, true);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  mo::access(to, bytes, true);
  return __real_memset(to, value, bytes);
}
// NOLINTEND

int pthread_mutex_lock(pthread_mutex_t* which) noexcept {
  if (!mo::engine::instance().is_observed()) {
    static auto* const real = mo::real<int(pthread_mutex_t*)>("pthread_mutex_lock");
    return real(which);
  }
  mo::engine::pause const here;
  mo::engine::instance().lock(which);
  return 0;
}
int pthread_mutex_unlock(pthread_mutex_t* which) noexcept {
  if (!mo::engine::instance().is_observed()) {
    static auto* const real = mo::real<int(pthread_mutex_t*)>("pthread_mutex_unlock");
    return real(which);
  }
  mo::engine::pause const here;
  mo::engine::instance().unlock(which);
  return 0;
}
int pthread_cond_wait(pthread_cond_t* on, pthread_mutex_t* with) {
  mo::engine::pause const here;
  mo::engine::instance().wait(on, with);
  return 0;
}
int pthread_cond_signal(pthread_cond_t* on) noexcept {
  mo::engine::pause const here;
  mo::engine::instance().notify(on, false);
  return 0;
}
int pthread_cond_broadcast(pthread_cond_t* on) noexcept {
  mo::engine::pause const here;
  mo::engine::instance().notify(on, true);
  return 0;
}
int sched_yield() noexcept {
  if (!mo::engine::instance().is_observed()) {
    static auto* const real = mo::real<int()>("sched_yield");
    return real();
  }
  mo::engine::pause const here;
  mo::engine::instance().spin();
  return 0;
}
}

void* operator new(std::size_t bytes) {
  void* const made = std::malloc(bytes != 0 ? bytes : 1);
  if (made == nullptr) { throw std::bad_alloc(); }
  mo::engine& all = mo::engine::instance();
  if (all.is_observed()) {
    mo::engine::pause const here;
    all.renew(made, bytes);
  }
  return made;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
