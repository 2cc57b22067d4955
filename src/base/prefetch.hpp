// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prefetches of memory that another core has written.

namespace flotilla::base {

/// Asks for the cache line at `address`, to read it.
inline void prefetch(void const* address) noexcept { __builtin_prefetch(address); }

/// Asks for the cache line at `address`, to write it: other cores lose the line. A prefetch for
/// reading would share the line, and the first write would wait for the other cores again.
inline void prefetch_to_write(void const* address) noexcept {
#if defined(__x86_64__)
  // Without options for a later processor, compilers turn __builtin_prefetch(address, 1) into a
  // prefetch for reading. Processors that do not know this instruction ignore it.
  asm volatile("prefetchw %0" ::"m"(*static_cast<char const*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace flotilla::base
