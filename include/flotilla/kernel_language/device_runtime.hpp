// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Fences, clocks, __nanosleep and __trap for kernels.
/// printf, assert, malloc, free, new and delete are declared by the C and C++ headers. The image
/// itself defines these functions for the device (image_definitions.hpp), so a kernel can use both
/// `printf` and `std::printf`, for example.

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
  // ThreadSanitizer does not model fences, so this build uses an atomic operation.
  static int fenced = 0;
  __atomic_fetch_add(&fenced, 1, __ATOMIC_SEQ_CST);
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
  // A kernel that polls memory for another thread's write has a fence in its loop. So a fence must
  // yield to the other threads.
  services()->yield(services());
}

}  // namespace flotilla::cpu::language

inline void __threadfence() { flotilla::cpu::language::fence(); }
inline void __threadfence_block() { flotilla::cpu::language::fence(); }
inline void __threadfence_system() { flotilla::cpu::language::fence(); }

/// Returns the time in nanoseconds of a clock that all blocks share.
inline unsigned long long flotilla_globaltimer() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000u +
         static_cast<unsigned long long>(now.tv_nsec);
}

/// Returns the processor's tick counter. As on GPUs, the length of a tick depends on the model of
/// the processor.
inline long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__builtin_ia32_rdtsc());
#else
  return static_cast<long long>(flotilla_globaltimer());
#endif
}

/// Yields to other threads of the block and to other OS threads. The call may return early: CUDA
/// guarantees only that a sleep takes between zero and twice the requested time.
inline void __nanosleep(unsigned nanoseconds) {
  auto* s = flotilla::cpu::language::services();
  s->yield(s);
  // Below this limit, nanosleep could sleep for more than twice the requested time.
  constexpr unsigned worth_sleeping = 100'000;
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
