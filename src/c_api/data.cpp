// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/cluster.h>
#include <flotilla/c/data.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/error/error.hpp>

#include "c_api/call.hpp"
#include "c_api/data_view.hpp"
#include "c_api/objects.hpp"
#include "c_api/place.hpp"

namespace flotilla::c_api {

namespace {

using datum_pointer = std::unique_ptr<detail::datum, detail::datum_deleter>;

/// A shape that was checked.
struct checked_shape {
  std::size_t object_bytes;
  std::vector<std::size_t> extents;
  std::size_t count;  // objects
  [[nodiscard]] std::size_t bytes() const noexcept { return count * object_bytes; }
};

/// @param name  The name of the parameter, for messages.
/// @throws refused_call  An extent is zero, the rank is wrong, or there are too many bytes.
checked_shape checked(flotilla_shape_of_data const& given, std::string const& name) {
  auto const refuse = [&name](std::string const& why) {
    throw refused_call(FLOTILLA_INVALID_ARGUMENT, name + ": " + why);
  };
  if (given.rank < 1 || given.rank > 3) {
    refuse("data have 1 to 3 dimensions, but the rank is " + std::to_string(given.rank));
  }
  if (given.object_bytes == 0) { refuse("an object has 0 bytes"); }
  checked_shape made{given.object_bytes, {given.extents, given.extents + given.rank}, 1};
  std::size_t bytes = given.object_bytes;
  for (std::size_t i = 0; i < made.extents.size(); ++i) {
    if (made.extents[i] == 0) { refuse("extents[" + std::to_string(i) + "] is 0"); }
    if (__builtin_mul_overflow(bytes, made.extents[i], &bytes) || bytes > PTRDIFF_MAX) {
      refuse("the objects need more than PTRDIFF_MAX bytes");
    }
    made.count *= made.extents[i];
  }
  return made;
}

/// Makes data whose first valid copy is at a place.
datum_pointer make_at(flow& owner, held_runtime const& rt, checked_shape const& shape,
                      flotilla_place const& where, char const* label) {
  auto const on_host = [&](void* memory, detail::host_memory kind) {
    return datum_pointer{detail::make_datum(
        owner, {memory, shape.count, shape.object_bytes, shape.extents, kind}, label)};
  };
  if (where.buffer.id == 0) {
    check_not_null(where.host, "contents->host");
    return on_host(where.host, detail::host_memory::pageable);
  }
  held_buffer& buffer = object(where.buffer);
  check_owner(buffer, rt);
  if (auto* const pinned = std::get_if<host_bytes>(&buffer.memory)) {
    return on_host(part_of(*pinned, where.offset, shape.bytes()).data(),
                   detail::host_memory::mapped);
  }
  auto const part = part_of(std::get<device_bytes>(buffer.memory), where.offset, shape.bytes());
  return datum_pointer{detail::make_datum(owner, detail::range_access::range(part),
                                          shape.object_bytes, shape.extents, label)};
}

void add(held_data&& data, flotilla_data& made) {
  held_runtime& owner = data.owner;
  made.id = data_table::get().add(std::move(data));
  owner.data.fetch_add(1);
}

/// @throws unknown_device  The place is another negative number than FLOTILLA_HOST.
std::optional<device_ordinal> place_of(int place) {
  if (place == FLOTILLA_HOST) { return std::nullopt; }
  if (place < 0) { throw unknown_device("there is no device " + std::to_string(place)); }
  return device_ordinal{static_cast<unsigned>(place)};
}

/// Returns the extents of each tile, in row-major order.
std::vector<std::vector<std::size_t>> tile_extents(std::vector<std::size_t> const& whole,
                                                   std::span<std::size_t const> tile) {
  std::vector<std::vector<std::size_t>> all{{}};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::vector<std::size_t>> longer;
    for (auto const& begun : all) {
      for (std::size_t at = 0; at < whole[i]; at += std::min(tile[i], whole[i] - at)) {
        longer.push_back(begun);
        longer.back().push_back(std::min(tile[i], whole[i] - at));
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// Returns how many tiles there are, at most SIZE_MAX.
std::size_t count_tiles(std::vector<std::size_t> const& whole, std::span<std::size_t const> tile) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::size_t const here = whole[i] / tile[i] + (whole[i] % tile[i] != 0);
    if (__builtin_mul_overflow(count, here, &count)) { return SIZE_MAX; }
  }
  return count;
}

/// @param owners  The rank of each tile. Empty: the owner of the data.
void divide(held_data& whole, flotilla_shape_of_data const& tile, std::span<int const> owners,
            flotilla_data* tiles, std::size_t count) {
  check_not_null(tiles, "tiles");
  checked_shape const shape = checked(tile, "tile");
  std::vector<std::size_t> const& each = shape.extents;
  if (each.size() != whole.extents.size() || shape.object_bytes != whole.object_bytes) {
    throw refused_call(FLOTILLA_INVALID_ARGUMENT,
                       "tile: the data have " + std::to_string(whole.extents.size()) +
                           " dimensions and objects of " + std::to_string(whole.object_bytes) +
                           " bytes, but the tile has " + std::to_string(each.size()) + " and " +
                           std::to_string(shape.object_bytes));
  }
  if (std::size_t const needed = count_tiles(whole.extents, each); needed != count) {
    throw refused_call(FLOTILLA_INVALID_ARGUMENT, "the data have " + std::to_string(needed) +
                                                      " such tiles, but 'count' is " +
                                                      std::to_string(count));
  }
  auto extents = tile_extents(whole.extents, each);
  auto made = detail::divide(*whole.state, each, owners);
  std::size_t added = 0;
  try {
    for (; added < count; ++added) {
      add({whole.owner, whole.of_cluster, std::move(made[added]), whole.object_bytes,
           std::move(extents[added])},
          tiles[added]);
    }
  } catch (...) {
    for (std::size_t i = 0; i < added; ++i) {
      data_table::get().remove(std::exchange(tiles[i].id, 0));
      whole.owner.data.fetch_sub(1);
    }
    throw;
  }
}

}  // namespace

held_data& data_with_memory(flotilla_data handle) {
  held_data& found = object(handle);
  if (found.is_token()) {
    throw refused_call(FLOTILLA_INVALID_ARGUMENT, "the data are a token, which has no memory");
  }
  return found;
}

flotilla_view view_of(held_data const& data) noexcept {
  flotilla_view made{};
  made.rank = static_cast<unsigned>(data.extents.size());
  std::copy(data.extents.begin(), data.extents.end(), made.extents);
  return made;
}

void set_place(flotilla_view& to, detail::placed_data const& at,
               std::size_t object_bytes) noexcept {
  if (to.rank == 0) { return; }  // a token has no memory
  to.data = at.address;
  to.pitch = to.rank == 1 ? to.extents[0] : at.pitch.row / object_bytes;
  to.plane_pitch = to.rank == 3 ? at.pitch.plane / object_bytes : 0;
}

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_data_create(flotilla_flow flow, flotilla_shape_of_data shape,
                                     flotilla_place const* contents, char const* label,
                                     flotilla_data* made) {
  return guarded("flotilla_data_create", [&] {
    required(made, "made").id = 0;
    held_flow& owner = object(flow);
    checked_shape const of = checked(shape, "shape");
    char const* const name = label == nullptr ? "" : label;
    auto state = contents != nullptr ? make_at(owner.held, owner.owner, of, *contents, name)
                                     : datum_pointer{flotilla::detail::make_datum(
                                           owner.held,
                                           {nullptr, std::nullopt, of.object_bytes, of.extents,
                                            flotilla::detail::host_memory::pageable},
                                           name)};
    add({owner.owner, owner.of_cluster, std::move(state), of.object_bytes, of.extents}, *made);
  });
}

flotilla_status flotilla_token_create(flotilla_flow flow, char const* label, flotilla_data* made) {
  return guarded("flotilla_token_create", [&] {
    required(made, "made").id = 0;
    held_flow& owner = object(flow);
    datum_pointer state{flotilla::detail::make_token(owner.held, label == nullptr ? "" : label)};
    add({owner.owner, owner.of_cluster, std::move(state)}, *made);
  });
}

flotilla_status flotilla_data_destroy(flotilla_data data) {
  return guarded("flotilla_data_destroy",
                 [&] { end_object(data_table::get(), data.id, kinds::data, &held_runtime::data); });
}

flotilla_status flotilla_data_divide(flotilla_data data, flotilla_shape_of_data tile,
                                     flotilla_data* tiles, size_t count) {
  return guarded("flotilla_data_divide",
                 [&] { divide(data_with_memory(data), tile, {}, tiles, count); });
}

flotilla_status flotilla_data_divide_among(flotilla_data data, flotilla_shape_of_data tile,
                                           int const* owners, flotilla_data* tiles, size_t count) {
  return guarded("flotilla_data_divide_among", [&] {
    check_not_null(owners, "owners");
    divide(data_with_memory(data), tile, {owners, count}, tiles, count);
  });
}

flotilla_status flotilla_data_owner(flotilla_data data, int* rank) {
  return guarded("flotilla_data_owner", [&] {
    required(rank, "rank") = flotilla::detail::rank_of_owner(*object(data).state);
  });
}

flotilla_status flotilla_data_set_owner(flotilla_data data, int rank) {
  return guarded("flotilla_data_set_owner",
                 [&] { flotilla::detail::set_owner(*data_with_memory(data).state, rank); });
}

flotilla_status flotilla_data_collect(flotilla_data data) {
  return guarded("flotilla_data_collect",
                 [&] { flotilla::detail::collect(*data_with_memory(data).state); });
}

flotilla_status flotilla_data_to_host(flotilla_data data, int change, flotilla_view* view) {
  return guarded("flotilla_data_to_host", [&] {
    check_not_null(view, "view");
    held_data const& held = data_with_memory(data);
    auto const where = flotilla::detail::wait_for_host(*held.state, change != 0);
    *view = view_of(held);
    set_place(*view, where, held.object_bytes);
  });
}

flotilla_status flotilla_data_set_write_back(flotilla_data data, int on) {
  return guarded("flotilla_data_set_write_back",
                 [&] { flotilla::detail::set_write_back(*data_with_memory(data).state, on != 0); });
}

flotilla_status flotilla_data_prefetch(flotilla_data data, int place) {
  return guarded("flotilla_data_prefetch", [&] {
    flotilla::detail::prefetch(*data_with_memory(data).state, place_of(place));
  });
}

flotilla_status flotilla_data_is_valid_at(flotilla_data data, int place, int* valid) {
  return guarded("flotilla_data_is_valid_at", [&] {
    check_not_null(valid, "valid");
    bool const is_valid =
        flotilla::detail::is_valid_on(*data_with_memory(data).state, place_of(place));
    *valid = is_valid ? 1 : 0;
  });
}
