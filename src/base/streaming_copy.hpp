// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A copy that writes past the caches.

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace flotilla::base {

/// Copies memory that nobody reads soon. An ordinary store first reads its cache line from memory;
/// these stores do not, so they use less of the memory's bandwidth. Afterwards the bytes are in no
/// cache. The ranges must not overlap. Other threads see the bytes as those of std::memcpy.
inline void streaming_copy(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
#if defined(__SSE2__)
  constexpr std::size_t line = 64;
  std::size_t const head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
  if (bytes >= head + line) {
    std::memcpy(to, from, head);
    std::size_t at = head;
    for (; at + line <= bytes; at += line) {
      auto const* const source = reinterpret_cast<__m128i const*>(from + at);
      auto* const target = reinterpret_cast<__m128i*>(to + at);
      __m128i const first = _mm_loadu_si128(source);
      __m128i const second = _mm_loadu_si128(source + 1);
      __m128i const third = _mm_loadu_si128(source + 2);
      __m128i const fourth = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, first);
      _mm_stream_si128(target + 1, second);
      _mm_stream_si128(target + 2, third);
      _mm_stream_si128(target + 3, fourth);
    }
    _mm_sfence();  // these stores are not ordered with the stores after them
    to += at;
    from += at;
    bytes -= at;
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace flotilla::base
