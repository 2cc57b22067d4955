// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "build_kind.hpp"

#include <string_view>

namespace flotilla::bench {

namespace {

#ifdef NDEBUG
constexpr bool assertions = false;
#else
constexpr bool assertions = true;
#endif

#ifdef __OPTIMIZE__
constexpr bool optimised = true;
#else
constexpr bool optimised = false;
#endif

// Detects sanitizers that were enabled by compiler flags instead of the CMake option
// FLOTILLA_SANITIZE.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool instrumented = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
constexpr bool instrumented = true;
#else
constexpr bool instrumented = false;
#endif
#else
constexpr bool instrumented = false;
#endif

constexpr std::string_view sanitizers = FLOTILLA_BENCH_SANITIZERS;

}  // namespace

std::string build_type() { return FLOTILLA_BUILD_TYPE; }

std::optional<std::string> why_not_measured() {
  if (instrumented || !sanitizers.empty()) {
    return "built with sanitizers (" +
           std::string{sanitizers.empty() ? "enabled by compiler flags" : sanitizers} + ")";
  }
  if (assertions) { return "built with assertions (NDEBUG is not defined)"; }
  if (!optimised) { return "built without optimisation"; }
  return std::nullopt;
}

}  // namespace flotilla::bench
