// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// On GPUs, creating a context takes 0.15 s and destroying it as long again: more than nearly every
// test takes. So the contract tests let their runtimes use the primary contexts, which this process
// keeps.

namespace flotilla::test {

/// Returns whether the runtimes of contract tests use primary contexts: on GPUs. The first call
/// retains the primary context of each GPU until the process ends.
/// @throws std::runtime_error  The driver refused to retain a context.
[[nodiscard]] bool contexts_are_kept();

}  // namespace flotilla::test
