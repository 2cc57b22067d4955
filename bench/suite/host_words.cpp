// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "host_words.hpp"

#include <stdexcept>

#include "words.hpp"

namespace flotilla::bench {

void write_words(std::span<unsigned long long> words, unsigned long long seed) {
  for (std::size_t i = 0; i < words.size(); ++i) { words[i] = i * word_factor + seed; }
}

void check_words(std::span<unsigned long long const> words, unsigned long long seed,
                 std::string const& who) {
  unsigned long long wrong = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    wrong += words[i] != i * word_factor + seed ? 1 : 0;
  }
  require_no_wrong_words(wrong, who);
}

void require_no_wrong_words(unsigned long long wrong, std::string const& who) {
  if (wrong != 0) {
    throw std::runtime_error{who + ": " + std::to_string(wrong) + " words are wrong"};
  }
}

}  // namespace flotilla::bench
