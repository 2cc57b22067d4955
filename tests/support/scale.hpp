#pragma once
// How large the counts of stress tests are.

#include <cstddef>
#include <cstdint>

namespace flotilla::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FLOTILLA_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FLOTILLA_TEST_SANITIZED 1
#endif
#endif

/// Whether this build is ten to twenty times slower than others.
#ifdef FLOTILLA_TEST_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// FLOTILLA_STRESS_SCALE, a factor above 0; 1 without it.
[[nodiscard]] double stress_scale();

/// `count` times the scale, and a fiftieth of it under a sanitizer; at least `least`.
[[nodiscard]] std::size_t scaled(std::size_t count, std::size_t least = 1);

}  // namespace flotilla::test
