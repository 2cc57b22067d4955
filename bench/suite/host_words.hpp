// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes and checks arrays of words (see words.hpp) in host memory.

#include <span>
#include <string>

namespace flotilla::bench {

/// Writes the words of an array with this seed.
void write_words(std::span<unsigned long long> words, unsigned long long seed);
/// @throws std::runtime_error  A word differs from those of an array with this seed. The message
///                             names `who`.
void check_words(std::span<unsigned long long const> words, unsigned long long seed,
                 std::string const& who);
/// @throws std::runtime_error  `wrong` is not 0.
void require_no_wrong_words(unsigned long long wrong, std::string const& who);

}  // namespace flotilla::bench
