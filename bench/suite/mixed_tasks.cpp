// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "mixed_tasks.hpp"

#include <random>
#include <stdexcept>

namespace flotilla::bench {

namespace {

/// What the kernels in mixed.cu write.
unsigned expected(std::size_t kernel, unsigned value, unsigned block) {
  switch (kernel) {
    case 0: return value + block;
    case 1: return value - block;
    case 2: return value * (block + 1);
    case 3: return value & ~block;
    case 4: return value | block;
    case 5: return value ^ block;
    case 6: return value << (block % 8);
    default: return ~(value + 3 * block);
  }
}

}  // namespace

std::array<char const*, mixed_tasks::kernels> const mixed_tasks::names{
    "mixed_add", "mixed_subtract", "mixed_multiply", "mixed_and",
    "mixed_or",  "mixed_xor",      "mixed_shift",    "mixed_complement"};

mixed_tasks::mixed_tasks(std::size_t count) {
  std::mt19937 random{1};
  for (std::size_t i = 0; i < count; ++i) {
    blocks_.push_back(static_cast<std::uint8_t>(1 + random() % max_blocks));
  }
}

void mixed_tasks::check(std::span<unsigned const> words, std::string const& who) const {
  for (std::size_t task = 0; task < count(); ++task) {
    for (unsigned block = 0; block < blocks(task); ++block) {
      if (words[task * max_blocks + block] != expected(kernel(task), value(task), block)) {
        throw std::runtime_error{who + ": task " + std::to_string(task) + " (" +
                                 names[kernel(task)] + ") wrote a wrong value in block " +
                                 std::to_string(block)};
      }
    }
  }
}

}  // namespace flotilla::bench
