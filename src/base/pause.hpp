#pragma once
// What a thread does that looks at one word again and again.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace flotilla::base {

inline void pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace flotilla::base
