// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes and checks arrays of words (see words.hpp) in the memory of a device of a runtime.

#include <cstddef>
#include <string>

#include <flotilla/flotilla.hpp>

namespace flotilla::bench {

class device_words {
 public:
  explicit device_words(runtime& rt);
  /// Writes the words of an array with this seed, and waits.
  void write(device_span<unsigned long long> words, unsigned long long seed);
  /// @throws std::runtime_error  A word is wrong.
  void check(device_span<unsigned long long const> words, unsigned long long seed,
             std::string const& who);
  /// Checks that the array repeats its first `period` words.
  /// @throws std::runtime_error  It does not.
  void check_repeats(device_span<unsigned long long const> words, std::size_t period,
                     std::string const& who);

 private:
  void require_none(launch const& counting, std::string const& who);

  runtime& rt_;
  program const kernels_;
  device_buffer<unsigned> wrong_;
};

}  // namespace flotilla::bench
