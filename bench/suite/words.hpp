// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The contents of memory that rows copy. Each word has its own value, so a wrong, missing or
// misplaced copy is found. The host and the kernels in words.cu include this file.

namespace flotilla::bench {

/// Word i of an array with this seed is `i * word_factor + seed`.
inline constexpr unsigned long long word_factor = 0x9e3779b97f4a7c15ull;

// A grid for the kernels in words.cu, which work with any grid.
inline constexpr unsigned word_blocks = 1024, word_threads = 256;

}  // namespace flotilla::bench
