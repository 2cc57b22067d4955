// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/copies/evictor.hpp"

#include <algorithm>
#include <utility>

#include "flows/memory/give_memory.hpp"

namespace flotilla::flows {

namespace {

// At most so many data are copied at a time because they may be evicted soon.
constexpr std::size_t max_data_ahead = 16;

[[nodiscard]] bool is_among(detail::datum const& which,
                            std::span<detail::datum_use const> uses) noexcept {
  return std::any_of(uses.begin(), uses.end(),
                     [&](detail::datum_use const& use) { return use.what == &which; });
}

[[nodiscard]] bool is_clean(detail::datum& which, place where) noexcept {
  return !which.at(where).is_valid || which.is_valid_elsewhere(where);
}

/// Returns how many bytes of the flow's memory a task needs at a place.
[[nodiscard]] std::size_t bytes_needed(std::span<detail::datum_use const> uses,
                                       place where) noexcept {
  std::size_t sum = 0;
  for (detail::datum_use const& use : uses) {
    if (use.what->is_token()) { continue; }
    replica const& here = use.what->at(where);
    bool const is_of_application = here.memory.exists() && here.position == replica::not_resident;
    if (!is_of_application) { sum += block_cache::rounded(use.what->bytes); }
  }
  return sum;
}

/// Returns how many bytes at a place are in use, but not by these uses. If no other data are left
/// that can be evicted, these are the bytes of divided data.
[[nodiscard]] std::size_t bytes_of_others(place_memory const& memory,
                                          std::span<detail::datum_use const> uses,
                                          place where) noexcept {
  std::size_t others = memory.in_use();
  for (detail::datum_use const& use : uses) {
    bool const is_resident =
        !use.what->is_token() && use.what->at(where).position != replica::not_resident;
    if (is_resident) { others -= block_cache::rounded(use.what->bytes); }
  }
  return others;
}

}  // namespace

detail::datum* evictor::choose(place where, std::span<detail::datum_use const> uses) {
  return memories_[where.index()].residents().next_victim(
      [&](detail::datum const& which) { return !is_among(which, uses); },
      [&](detail::datum& which) { return is_clean(which, where); });
}

obstacle evictor::write_back(detail::datum& which, place where) {
  if (is_clean(which, where)) { return {}; }
  replica& host = which.at(place::host());
  if (!host.memory.exists()) {
    if (obstacle why = give_memory(memories_, which, place::host())) {
      why.whose = nullptr;  // the task does not use these data
      return why;
    }
  }
  obstacle const why = mover_.make_valid(which, place::host(), 0);
  if (!why) { ++counts_[where.index()].written; }
  return why;
}

void evictor::write_back_ahead(place where) {
  place_memory& memory = memories_[where.index()];
  double bytes = memory.bytes_to_copy_if_full();
  memory.residents().look_ahead(max_data_ahead, [&](detail::datum& each) {
    if (static_cast<double>(each.bytes) > bytes) { return false; }
    bytes -= static_cast<double>(each.bytes);
    if (each.at(where).was_used) { return true; }  // the hand will pass these data
    return !write_back(each, where);
  });
}

void evictor::heed_watermarks(place where, std::span<detail::datum_use const> uses) {
  place_memory& memory = memories_[where.index()];
  double bytes = memory.bytes_to_copy();
  if (bytes <= 0) { return; }
  // `was_used` says nothing here: only an eviction clears it.
  memory.residents().look_ahead(max_data_ahead, [&](detail::datum& each) {
    if (bytes <= 0) { return false; }
    if (is_among(each, uses)) { return true; }
    bytes -= static_cast<double>(each.bytes);
    obstacle const why = write_back(each, where);
    return !why || why.kind == obstacle::kinds::no_memory;
  });
}

void evictor::evict(detail::datum& which, place where) {
  place_memory& memory = memories_[where.index()];
  block freed = mover_.take_memory(which.at(where));
  memory.residents().remove(which);
  memory.put(which.bytes, std::move(freed));
  ++counts_[where.index()].evicted;
}

obstacle evictor::make_room(detail::datum const& which, place where,
                            std::span<detail::datum_use const> uses) {
  place_memory& memory = memories_[where.index()];
  std::size_t const needed = bytes_needed(uses, where);
  // If the device was full, its limit is an estimate: other blocks may leave more room.
  if (needed > memory.configured_limit()) {
    return {.kind = obstacle::kinds::too_large, .where = where, .bytes = needed, .whose = &which};
  }
  while (!memory.make_room_from_free_blocks(which.bytes)) {
    detail::datum* const victim = choose(where, uses);
    if (victim == nullptr) {
      memory.give_up_all();
      return {.kind = obstacle::kinds::too_large,
              .where = where,
              .bytes = needed,
              .whose = &which,
              .divided_bytes = bytes_of_others(memory, uses, where)};
    }
    if (obstacle const why = write_back(*victim, where)) { return why; }
    std::size_t const freed = block_cache::rounded(victim->bytes);
    evict(*victim, where);
    if (freed == block_cache::rounded(which.bytes)) { break; }
  }
  write_back_ahead(where);
  return {};
}

}  // namespace flotilla::flows
