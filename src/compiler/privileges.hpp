// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The environment, which programs with raised privileges must not trust.

#include <stdlib.h>
#include <sys/auxv.h>

#include <string>

namespace flotilla::compiler {

/// Whether this program has privileges that its user lacks, for example by set-user-id.
[[nodiscard]] inline bool has_raised_privileges() noexcept { return ::getauxval(AT_SECURE) != 0; }

/// Returns the value of an environment variable. Empty if it is not set, or if the program has
/// raised privileges.
[[nodiscard]] inline std::string trusted_environment(char const* name) {
  char const* const value = ::secure_getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

}  // namespace flotilla::compiler
