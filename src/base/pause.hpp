// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The processor's hint for spin loops.

namespace flotilla::base {

/// Tells the processor that the calling thread is in a spin loop. Cost: a few tens of nanoseconds.
inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace flotilla::base
