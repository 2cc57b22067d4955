// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/copies/evictor.hpp"

#include <algorithm>
#include <utility>

#include "flows/memory/give_memory.hpp"

namespace flotilla::flows {

namespace {

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

template <class MayGo>
void evictor::write_back_ahead(place where, MayGo const& may_go) {
  constexpr std::size_t max_data = 16;
  place_memory& memory = memories_[where.index()];
  std::size_t bytes = memory.bytes_above_low();
  memory.residents().look_ahead(max_data, [&](detail::datum& each) {
    if (each.bytes > bytes) { return false; }
    bytes -= each.bytes;
    return !may_go(each) || !write_back(each, where);
  });
}

void evictor::heed_watermarks(place where, std::span<detail::datum_use const> uses) {
  if (!memories_[where.index()].is_above_high()) { return; }
  // As long as nothing was evicted, all data count as used.
  write_back_ahead(where, [&](detail::datum const& each) { return !is_among(each, uses); });
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
      return {.kind = obstacle::kinds::too_large, .where = where, .bytes = needed, .whose = &which};
    }
    if (obstacle const why = write_back(*victim, where)) { return why; }
    std::size_t const freed = block_cache::rounded(victim->bytes);
    evict(*victim, where);
    if (freed == block_cache::rounded(which.bytes)) { break; }
  }
  // The hand will pass data that were used.
  write_back_ahead(where, [&](detail::datum& each) { return !each.at(where).was_used; });
  return {};
}

}  // namespace flotilla::flows
