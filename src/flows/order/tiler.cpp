// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/order/tiler.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace flotilla::flows {

using detail::access_mode;
using detail::datum;

namespace {

/// Returns the place whose memory the tiles of the data share: a valid copy on the host, or else
/// one on a device. Without any, the host.
[[nodiscard]] place place_to_divide(datum& whole) noexcept {
  if (whole.at(place::host()).is_valid) { return place::host(); }
  for (std::size_t i = 1; i < whole.replicas.size(); ++i) {
    if (whole.replicas[i].is_valid) { return place::at(i); }
  }
  return place::host();
}

[[nodiscard]] std::string label_of_tile(datum const& whole, triple const& number) {
  std::string made = whole.label + '(';
  for (auto i = number.size() - static_cast<std::size_t>(whole.shape.rank); i < number.size();
       ++i) {
    made += std::to_string(number[i]) + (i + 1 < number.size() ? ", " : ")");
  }
  return made;
}

}  // namespace

std::unique_ptr<datum> tiler::make_tile(datum& whole, triple const& number, triple const& tile,
                                        place where) {
  datum_shape shape = whole.shape;
  triple first{};
  for (std::size_t i = 0; i < tile.size(); ++i) {
    first[i] = number[i] * tile[i];
    shape.extents[i] = std::min(tile[i], whole.shape.extents[i] - first[i]);
  }
  auto made = std::make_unique<datum>(whole.owner, label_of_tile(whole, number), shape,
                                      whole.replicas.size());
  made->first = first;
  made->has_contents = whole.has_contents;
  replica const& from = whole.at(where);
  replica& to = made->at(where);
  to.is_valid = from.is_valid;
  if (!from.memory.exists()) { return made; }
  to.memory = {.address = from.memory.address + whole.shape.offset(first, whole.pitch_at(where)),
               .reach = from.memory.reach,
               .kind = from.memory.kind,
               .last_users = from.memory.last_users};
  to.users = from.users;
  return made;
}

obstacle tiler::divide(datum& whole, triple const& tile, tile_list& made) {
  place const where = place_to_divide(whole);
  replica& here = whole.at(where);
  if (obstacle const why = mover_.join_commuting(whole, where)) { return why; }
  // Each tile gets a copy of these lists.
  if (obstacle const why = mover_.shorten(here.users, whole)) { return why; }
  if (obstacle const why = mover_.shorten(here.memory.last_users, whole)) { return why; }
  triple count{};
  for (std::size_t i = 0; i < count.size(); ++i) {
    count[i] = (whole.shape.extents[i] - 1) / tile[i] + 1;
  }
  auto tiles = std::make_unique<partition>();
  tiles->where = where;
  tiles->open = count[0] * count[1] * count[2];
  tiles->ended.reserve(tiles->open);
  made.reserve(tiles->open);
  triple at{};
  for (at[0] = 0; at[0] < count[0]; ++at[0]) {
    for (at[1] = 0; at[1] < count[1]; ++at[1]) {
      for (at[2] = 0; at[2] < count[2]; ++at[2]) {
        made.emplace_back(make_tile(whole, at, tile, where).release());
      }
    }
  }
  // Nothing throws from here on.
  for (auto const& each : made) {
    each->whole = &whole;
    if (here.filled != nullptr) { mover_.set_writer(each->at(where), here.filled); }
  }
  for (std::size_t i = 0; i < whole.replicas.size(); ++i) {
    if (i == where.index()) { continue; }
    // Memory of the application stays.
    whole.replicas[i].is_valid = false;
    if (whole.replicas[i].memory.is_of_flow()) { residents_.release(whole, place::at(i)); }
  }
  residents_.memory(where).residents().remove(whole);
  mover_.set_writer(here, nullptr);
  here.users.clear();
  here.is_valid = false;
  whole.has_contents = true;  // if all tiles have contents when they end
  whole.tiles = std::move(tiles);
  return {};
}

obstacle tiler::gather(datum& whole, std::span<std::unique_ptr<datum> const> tiles, int priority) {
  place const where = whole.tiles->where;
  dispatch::flow_task_options options;
  options.label = whole.label;
  options.priority = priority;
  mover_.add_writer(whole.at(where), options.after);
  for (std::unique_ptr<datum> const& each : tiles) {
    if (!each->has_value()) { continue; }
    if (obstacle const why = join(*each, priority)) { return why.about(whole); }
    if (obstacle const why = reductions_.combine(*each, priority)) { return why.about(whole); }
    detail::datum_use const use{each.get(), access_mode::read, nullptr};
    std::size_t copies = 0;
    if (obstacle const why = residents_.prepare({&use, 1}, where, priority, copies)) {
      return why.about(whole);
    }
    // One writer for each tile: the search for writers that occur twice is quadratic.
    if (obstacle const why = mover_.join_commuting(*each, where)) { return why.about(whole); }
    mover_.add_writer(each->at(where), options.after);
  }
  if (options.after.size() == 0) {
    mover_.set_writer(whole.at(where), nullptr);
    return {};
  }
  return mover_.mark(whole, where, options);
}

void tiler::absorb(datum& whole, datum& tile) {
  if (tile.tiles != nullptr) { absorb_all(tile); }
  place const where = whole.tiles->where;
  replica& part = tile.at(where);
  std::vector<task_id>& users = whole.at(where).memory.last_users;
  // Everything that can throw comes before the tile changes.
  std::size_t const size = users.size() + part.memory.last_users.size() + part.users.size() +
                           part.commuting.size() + 1;  // 1: the writer
  if (size > users.capacity()) { users.reserve(std::max(size, 2 * users.capacity())); }
  block const unused = mover_.take_memory(part);
  users.insert(users.end(), unused.last_users.begin(), unused.last_users.end());
  release(tile);
}

void tiler::absorb_all(datum& whole) {
  for (std::unique_ptr<datum> const& each : whole.tiles->ended) { absorb(whole, *each); }
  whole.tiles.reset();
}

obstacle tiler::join(datum& whole, int priority) {
  if (whole.tiles == nullptr) { return {}; }
  // One task joins so many tiles. With fewer, more tasks would run; with more, looking for tasks
  // that were already added would take longer.
  constexpr std::size_t group = 128;
  std::vector<std::unique_ptr<datum>>& ended = whole.tiles->ended;
  place const where = whole.tiles->where;
  while (!ended.empty()) {
    std::size_t const count = std::min(group, ended.size());
    if (obstacle const why = gather(whole, std::span{ended}.last(count), priority)) { return why; }
    for (std::size_t i = 0; i < count; ++i) {
      absorb(whole, *ended.back());
      ended.pop_back();
    }
  }
  replica& here = whole.at(where);
  if (obstacle const why = mover_.shorten(here.memory.last_users, whole)) { return why; }
  if (!where.is_host() && here.memory.is_of_flow()) {
    residents_.memory(where).residents().add(whole);
  }
  here.is_valid = whole.has_contents;
  whole.tiles.reset();
  return {};
}

std::unique_ptr<datum> tiler::end(std::unique_ptr<datum> which) noexcept {
  while (which != nullptr) {
    if (which->is_divided()) {
      // The last tile ends the data.
      datum& all = *which;
      all.tiles->orphan = std::move(which);
      break;
    }
    datum* const whole = which->whole;
    if (whole == nullptr) { break; }
    partition& tiles = *whole->tiles;
    whole->has_contents = whole->has_contents && which->has_value();
    tiles.ended.push_back(std::move(which));  // `divide` has reserved the memory
    if (--tiles.open == 0) { which = std::move(tiles.orphan); }
  }
  return which;
}

void tiler::release(datum& which) noexcept {
  reductions_.discard(which);
  if (which.tiles != nullptr) {
    try {
      absorb_all(which);
    } catch (std::bad_alloc const&) {
      for (std::unique_ptr<datum> const& each : which.tiles->ended) { release(*each); }
      // Nobody knows all tasks that use the memory.
      residents_.discard(which, which.tiles->where);
    }
  }
  for (std::size_t i = 0; i < which.replicas.size(); ++i) {
    residents_.release(which, place::at(i));
  }
}

}  // namespace flotilla::flows
