// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts for what the system refuses.

#include <string>

namespace flotilla::base {

/// Returns "EMFILE (Too many open files)", in English whatever the locale is.
[[nodiscard]] std::string errno_text(int error);
/// Returns the limits of this process that may be the cause of the error, as limits_text does.
/// Empty if there is none.
[[nodiscard]] std::string limit_text(int error);
/// Returns both.
[[nodiscard]] std::string refusal_text(int error);

}  // namespace flotilla::base
