#pragma once
/// CUDA's functions for kernels at run time: fences, clocks, sleeping, traps.
/// printf, assert, malloc, free, new and delete are those of C and C++. The image defines them
/// itself so that they act on the device (image_definitions.hpp), so every spelling of them works.

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <flotilla/kernel_language/indices.hpp>

namespace flotilla::cpu::language {

inline void fence() {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer does not model fences, but it models atomic operations.
  static int fenced = 0;
  __atomic_fetch_add(&fenced, 1, __ATOMIC_SEQ_CST);
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
  // A kernel that waits for another thread through memory has a fence in its loop, so it yields
  // here.
  services()->yield(services());
}

}  // namespace flotilla::cpu::language

inline void __threadfence() { flotilla::cpu::language::fence(); }
inline void __threadfence_block() { flotilla::cpu::language::fence(); }
inline void __threadfence_system() { flotilla::cpu::language::fence(); }

/// Nanoseconds of a clock that all blocks share.
inline unsigned long long flotilla_globaltimer() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000u +
         static_cast<unsigned long long>(now.tv_nsec);
}

/// Ticks of the processor's counter. Their length differs between machines, as between GPU models.
inline long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__builtin_ia32_rdtsc());
#else
  return static_cast<long long>(flotilla_globaltimer());
#endif
}

/// Lets other threads of the block run or, if none can run, other threads of the machine. It may
/// return early, as CUDA allows (which promises between zero and twice the time).
inline void __nanosleep(unsigned nanoseconds) {
  auto* s = flotilla::cpu::language::services();
  s->yield(s);
  constexpr unsigned worth_sleeping =
      100'000;  // a shorter sleep would last twice as long as requested
  if (nanoseconds >= worth_sleeping) {
    timespec const time{0, static_cast<long>(nanoseconds < 1'000'000 ? nanoseconds : 1'000'000)};
    nanosleep(&time, nullptr);
  } else {
    sched_yield();
  }
}

[[noreturn]] inline void __trap() {
  auto* s = flotilla::cpu::language::services();
  s->trap(s);
  __builtin_unreachable();
}
