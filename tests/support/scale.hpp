// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The number of tasks and rounds of the stress tests.

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

/// Whether this build has AddressSanitizer or ThreadSanitizer. Such a build is ten to twenty times
/// slower.
#ifdef FLOTILLA_TEST_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// The value of the environment variable FLOTILLA_STRESS_SCALE. Default: 1.
/// @throws std::runtime_error  the value is not greater than 0.
[[nodiscard]] double stress_scale();

/// Returns `count` times `stress_scale()`. A sanitizer build divides this product by 50. The result
/// is never less than `min_count`.
[[nodiscard]] std::size_t scaled(std::size_t count, std::size_t min_count = 1);

}  // namespace flotilla::test
