#pragma once
// The counts of stress tests.

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

/// Whether a sanitizer makes this build ten to twenty times slower.
#ifdef FLOTILLA_TEST_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// The environment's FLOTILLA_STRESS_SCALE, a factor greater than 0. Default: 1.
[[nodiscard]] double stress_scale();

/// `count` times the scale, a fiftieth of that under a sanitizer, and at least `min_count`.
[[nodiscard]] std::size_t scaled(std::size_t count, std::size_t min_count = 1);

}  // namespace flotilla::test
