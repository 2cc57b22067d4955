// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// CUDA's atomic functions. They have exactly CUDA's overloads, so that a source that compiles for
/// CPU devices also compiles for GPUs.
///
/// CUDA's atomics are relaxed, and kernels order them with fences. The functions of this header use
/// acquire and release order, because ThreadSanitizer does not model fences. On x86 this costs
/// nothing.

#include <bit>
#include <cstdint>
#include <type_traits>

#include <flotilla/kernel_language/indices.hpp>

namespace flotilla::cpu::language {

/// Replaces `*p` by `next(*p)` and returns the old value. The compare-exchange uses an integer of
/// the same size, so that every compiler generates inline instructions.
template <class T, class Next>
T atomic_update(T* p, Next next) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static_assert(sizeof(T) == sizeof(bits));
  auto* const place = reinterpret_cast<bits*>(p);
  // Relaxed, because this value is only a first guess. The compare-exchange below checks it.
  bits old = __atomic_load_n(place, __ATOMIC_RELAXED);
  for (;;) {
    auto const desired = std::bit_cast<bits>(static_cast<T>(next(std::bit_cast<T>(old))));
    if (__atomic_compare_exchange_n(place, &old, desired, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      return std::bit_cast<T>(old);
    }
  }
}

template <class T>
T atomic_add(T* p, T v) {
  if constexpr (std::is_integral_v<T>) {
    return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);
  } else {
    return atomic_update(p, [v](T old) { return old + v; });
  }
}
template <class T>
T atomic_sub(T* p, T v) {
  return __atomic_fetch_sub(p, v, __ATOMIC_ACQ_REL);
}
template <class T>
T atomic_and(T* p, T v) {
  return __atomic_fetch_and(p, v, __ATOMIC_ACQ_REL);
}
template <class T>
T atomic_or(T* p, T v) {
  return __atomic_fetch_or(p, v, __ATOMIC_ACQ_REL);
}
template <class T>
T atomic_xor(T* p, T v) {
  return __atomic_fetch_xor(p, v, __ATOMIC_ACQ_REL);
}
template <class T>
T atomic_min(T* p, T v) {
  return atomic_update(p, [v](T old) { return v < old ? v : old; });
}
template <class T>
T atomic_max(T* p, T v) {
  return atomic_update(p, [v](T old) { return old < v ? v : old; });
}
template <class T>
T atomic_inc(T* p, T v) {
  return atomic_update(p, [v](T old) { return old >= v ? T{0} : old + 1; });
}
template <class T>
T atomic_dec(T* p, T v) {
  return atomic_update(p, [v](T old) { return old == 0 || old > v ? v : old - 1; });
}
template <class T>
T atomic_exch(T* p, T v) {
  T old;
  __atomic_exchange(p, &v, &old, __ATOMIC_ACQ_REL);
  // An exchange that changes nothing may be a failed attempt to take a lock: see atomic_cas.
  if (old == v) { services()->yield(services()); }
  return old;
}
template <class T>
T atomic_cas(T* p, T compare, T v) {
  T old = compare;
  if (!__atomic_compare_exchange(p, &old, &v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    // The kernel may be trying to take a lock. If another thread of this block holds the lock, that
    // thread can release it only after this thread yields.
    services()->yield(services());
  }
  return old;
}

}  // namespace flotilla::cpu::language

#define FLOTILLA_ATOMIC_SCOPE(name, implementation, type)           \
  inline type name(type* address, type value) {                     \
    return flotilla::cpu::language::implementation(address, value); \
  }
#define FLOTILLA_ATOMIC(name, implementation, type)         \
  FLOTILLA_ATOMIC_SCOPE(name, implementation, type)         \
  FLOTILLA_ATOMIC_SCOPE(name##_block, implementation, type) \
  FLOTILLA_ATOMIC_SCOPE(name##_system, implementation, type)
#define FLOTILLA_ATOMIC_CAS(name, type)                                  \
  inline type name(type* address, type compare, type value) {            \
    return flotilla::cpu::language::atomic_cas(address, compare, value); \
  }

FLOTILLA_ATOMIC(atomicAdd, atomic_add, int)
FLOTILLA_ATOMIC(atomicAdd, atomic_add, unsigned)
FLOTILLA_ATOMIC(atomicAdd, atomic_add, unsigned long long)
FLOTILLA_ATOMIC(atomicAdd, atomic_add, float)
FLOTILLA_ATOMIC(atomicAdd, atomic_add, double)
FLOTILLA_ATOMIC(atomicSub, atomic_sub, int)
FLOTILLA_ATOMIC(atomicSub, atomic_sub, unsigned)
FLOTILLA_ATOMIC(atomicExch, atomic_exch, int)
FLOTILLA_ATOMIC(atomicExch, atomic_exch, unsigned)
FLOTILLA_ATOMIC(atomicExch, atomic_exch, unsigned long long)
FLOTILLA_ATOMIC(atomicExch, atomic_exch, float)
FLOTILLA_ATOMIC(atomicMin, atomic_min, int)
FLOTILLA_ATOMIC(atomicMin, atomic_min, unsigned)
FLOTILLA_ATOMIC(atomicMin, atomic_min, long long)
FLOTILLA_ATOMIC(atomicMin, atomic_min, unsigned long long)
FLOTILLA_ATOMIC(atomicMax, atomic_max, int)
FLOTILLA_ATOMIC(atomicMax, atomic_max, unsigned)
FLOTILLA_ATOMIC(atomicMax, atomic_max, long long)
FLOTILLA_ATOMIC(atomicMax, atomic_max, unsigned long long)
FLOTILLA_ATOMIC(atomicInc, atomic_inc, unsigned)
FLOTILLA_ATOMIC(atomicDec, atomic_dec, unsigned)
FLOTILLA_ATOMIC(atomicAnd, atomic_and, int)
FLOTILLA_ATOMIC(atomicAnd, atomic_and, unsigned)
FLOTILLA_ATOMIC(atomicAnd, atomic_and, unsigned long long)
FLOTILLA_ATOMIC(atomicOr, atomic_or, int)
FLOTILLA_ATOMIC(atomicOr, atomic_or, unsigned)
FLOTILLA_ATOMIC(atomicOr, atomic_or, unsigned long long)
FLOTILLA_ATOMIC(atomicXor, atomic_xor, int)
FLOTILLA_ATOMIC(atomicXor, atomic_xor, unsigned)
FLOTILLA_ATOMIC(atomicXor, atomic_xor, unsigned long long)

#define FLOTILLA_ATOMIC_CAS_ALL(type)        \
  FLOTILLA_ATOMIC_CAS(atomicCAS, type)       \
  FLOTILLA_ATOMIC_CAS(atomicCAS_block, type) \
  FLOTILLA_ATOMIC_CAS(atomicCAS_system, type)
FLOTILLA_ATOMIC_CAS_ALL(int)
FLOTILLA_ATOMIC_CAS_ALL(unsigned)
FLOTILLA_ATOMIC_CAS_ALL(unsigned long long)
FLOTILLA_ATOMIC_CAS_ALL(unsigned short)

#undef FLOTILLA_ATOMIC_CAS_ALL
#undef FLOTILLA_ATOMIC_CAS
#undef FLOTILLA_ATOMIC
#undef FLOTILLA_ATOMIC_SCOPE
