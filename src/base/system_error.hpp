// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts for what the system refuses.

#include <string>

namespace flotilla::base {

/// Returns "EMFILE (Too many open files)", in English whatever the locale is.
[[nodiscard]] std::string errno_text(int error);
/// Returns the limit of this process that may be the cause of the error, such as "; the limit of
/// descriptors, ulimit -n, is 1024". Empty if there is none.
[[nodiscard]] std::string limit_text(int error);
/// Returns both.
[[nodiscard]] std::string refusal_text(int error);

}  // namespace flotilla::base
