// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data races: two accesses to a byte, of which one is a write and one is not atomic, and neither of
// which happened before the other.

#include <array>
#include <cstdint>
#include <unordered_map>

#include "memory_order/memory.hpp"

namespace flotilla::test::memory_order {

class races {
 public:
  /// Begins a new execution.
  void reset() { ++execution_; }
  /// Notes an access that is not atomic. @return whether it is a race.
  bool access(int thread, view const& now, std::uintptr_t at, std::size_t bytes, bool writes) {
    bool race = false;
    for (std::uintptr_t byte = at; byte < at + bytes; ++byte) {
      cell& one = cell_of(byte);
      race |= one.written[one.writer] > now.clock[one.writer];
      for (int each = 0; writes && each < max_threads; ++each) {
        race |= one.read[each] > now.clock[each];
      }
      if (writes) {
        one.written.fill(0);
        one.writer = thread;
        one.written[thread] = now.clock[thread];
      } else {
        one.read[thread] = now.clock[thread];
      }
    }
    return race;
  }
  /// Returns whether an atomic access races with an earlier one that is not atomic, such as that of
  /// the constructor.
  bool atomic_access(view const& now, std::uintptr_t at) {
    cell const& one = cell_of(at);
    return one.written[one.writer] > now.clock[one.writer];
  }
  /// Forgets a range, because it holds new objects.
  void forget(std::uintptr_t at, std::size_t bytes) {
    for (std::uintptr_t byte = at; byte < at + bytes; ++byte) { cell_of(byte) = {execution_}; }
  }

 private:
  struct cell {
    std::uint64_t execution = 0;
    int writer = 0;
    std::array<std::uint32_t, max_threads> written{}, read{};
  };
  static constexpr std::uintptr_t bytes_per_page = 64;
  cell& cell_of(std::uintptr_t byte) {
    cell& one = pages_[byte / bytes_per_page][byte % bytes_per_page];
    if (one.execution != execution_) { one = {execution_}; }
    return one;
  }

  std::uint64_t execution_ = 1;
  std::unordered_map<std::uintptr_t, std::array<cell, bytes_per_page>> pages_;
};

}  // namespace flotilla::test::memory_order
