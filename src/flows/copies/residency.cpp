// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/copies/residency.hpp"

#include <limits>
#include <new>
#include <utility>

#include "flows/memory/give_memory.hpp"

namespace flotilla::flows {

using detail::access_mode;

residency::residency(dispatch::runtime_state& runtime, flow_options const& options,
                     data_mover& mover)
    : mover_(mover),
      memories_{[&] {
        std::vector<place_memory> made;
        constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
        made.emplace_back(place::host(), unlimited, unlimited, watermarks{});
        for (device const& each : runtime.infos()) {
          made.emplace_back(place::of(each.ordinal), options.memory_limit, each.memory_bytes,
                            watermarks{options.low_watermark, options.high_watermark});
        }
        return made;
      }()},
      evictor_(mover_, memories_) {}

obstacle residency::get_memory(detail::datum& which, place where,
                               std::span<detail::datum_use const> uses) {
  place_memory& memory = memories_[where.index()];
  obstacle missing = give_memory(memories_, which, where);
  if (missing && !memory.has_room(missing.bytes)) {
    if (obstacle const why = evictor_.make_room(which, where, uses)) { return why; }
    missing = give_memory(memories_, which, where);
  }
  if (missing || where.is_host() || which.is_inside_whole(where)) { return missing; }
  try {
    memory.residents().add(which);
  } catch (...) {
    memory.put(which.bytes, std::exchange(which.at(where).memory, {}));
    throw;
  }
  evictor_.heed_watermarks(where, uses);
  return {};
}

obstacle residency::prepare(std::span<detail::datum_use const> uses, place where, int priority,
                            std::size_t& copies) {
  // All uses first: making room for one must not write back another.
  bool is_ready = true;
  std::size_t users = 0;  // that the task must name
  for (detail::datum_use const& use : uses) {
    replica& here = use.what->at(where);
    here.was_used = true;
    is_ready =
        is_ready && here.memory.exists() && (here.is_valid || use.mode == access_mode::write);
    users += use.mode == access_mode::read ? 0 : here.user_count();
  }
  return is_ready && users <= data_mover::many_users ? obstacle{}
                                                     : bring(uses, where, priority, copies);
}

obstacle residency::bring(std::span<detail::datum_use const> uses, place where, int priority,
                          std::size_t& copies) {
  for (detail::datum_use const& use : uses) {
    if (use.what->is_token() || use.what->at(where).memory.exists()) { continue; }
    if (obstacle const why = get_memory(*use.what, where, uses)) { return why; }
  }
  for (detail::datum_use const& use : uses) {
    if (use.what->is_token() || use.mode == access_mode::write) { continue; }
    if (use.what->at(where).is_valid) { continue; }
    if (obstacle const why = mover_.make_valid(*use.what, where, priority)) { return why; }
    ++copies;
  }
  return limit_users(uses, where);
}

obstacle residency::limit_users(std::span<detail::datum_use const> uses, place where) {
  std::size_t users = 0;
  for (detail::datum_use const& use : uses) {
    users += use.mode == access_mode::read ? 0 : use.what->at(where).user_count();
  }
  if (users <= data_mover::many_users) { return {}; }
  for (detail::datum_use const& use : uses) {
    if (use.mode == access_mode::read) { continue; }
    if (obstacle const why = mover_.shorten_users(*use.what, where)) { return why; }
  }
  return {};
}

void residency::release(detail::datum& which, place where) noexcept {
  replica& here = which.at(where);
  place_memory& memory = memories_[where.index()];
  memory.residents().remove(which);
  bool const is_of_flow = here.memory.is_of_flow();
  try {
    block unused = mover_.take_memory(here);
    if (is_of_flow) { memory.put(which.bytes, std::move(unused)); }
  } catch (std::bad_alloc const&) { discard(which, where); }
}

void residency::discard(detail::datum& which, place where) noexcept {
  replica& here = which.at(where);
  place_memory& memory = memories_[where.index()];
  memory.residents().remove(which);
  mover_.set_writer(here, nullptr);
  if (here.memory.is_of_flow()) { memory.forget(which.bytes); }
  here.memory = {};  // the destructor of the block frees the memory
  here.users.clear();
  here.is_valid = false;
}

}  // namespace flotilla::flows
