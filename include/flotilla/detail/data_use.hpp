// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Types that logical data, flows and the library share.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <flotilla/detail/device_range.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/detail/memory_command.hpp>
#include <flotilla/device/device.hpp>

namespace flotilla {
inline namespace v0_1 {

class flow;

namespace detail {

/// How a task uses data.
enum class access_mode : std::uint8_t { read, write, update, reduce, commute };

/// An operation that combines partial results. Two uses of data have the same operation if they
/// have the same object of this type.
struct reduction {
  void const* identity;  // one object
  /// to[i] = op(to[i], from[i])
  void (*combine)(void* to, void const* from, std::size_t count);
};

/// The state of data or of a token. The library defines it in src/flows/data/datum.hpp.
class datum;
struct FLOTILLA_EXPORT datum_deleter {
  void operator()(datum* which) const noexcept;
};

/// The maximum number of data of a task.
inline constexpr std::size_t max_uses = 16;

/// No member has a default value, so that an array of uses costs nothing.
struct datum_use {
  datum* what;  // null: the data were moved from
  access_mode mode;
  // If the mode is `reduce`, or `update` of data or of a partial result in place of it. Else null.
  reduction const* how;
};

/// Where data are for a task: the address of the first object, and the distances between rows and
/// planes.
struct placed_data {
  void* address = nullptr;
  memory_pitch pitch{};
};

/// The host memory of data.
struct host_block {
  void* memory;
  std::optional<std::size_t> count;  // objects; empty if the flow allocates the memory
  std::size_t each;                  // bytes of an object
  std::span<std::size_t const> extents;
  host_memory kind;
};

FLOTILLA_EXPORT datum* make_datum(flow& owner, host_block const& host, std::string_view label);
FLOTILLA_EXPORT datum* make_datum(flow& owner, device_range const& range, std::size_t each,
                                  std::span<std::size_t const> extents, std::string_view label);
FLOTILLA_EXPORT datum* make_token(flow& owner, std::string_view label);
/// Divides data into tiles.
/// @param owners  The rank of each tile. Empty: the owner of the data.
/// @return the tiles, in row-major order.
[[nodiscard]] FLOTILLA_EXPORT std::vector<std::unique_ptr<datum, datum_deleter>> divide(
    datum& whole, std::span<std::size_t const> tile, std::span<int const> owners = {});
[[nodiscard]] FLOTILLA_EXPORT int rank_of_owner(datum const& which) noexcept;
FLOTILLA_EXPORT void set_owner(datum& which, int rank);
FLOTILLA_EXPORT void collect(datum& whole);
[[nodiscard]] FLOTILLA_EXPORT placed_data wait_for_host(datum& which, bool for_update);
/// See data::set_write_back.
FLOTILLA_EXPORT void set_write_back(datum& which, bool on);
/// Writes the data back, and waits until no task uses the pageable memory of the program from which
/// they were made. The end of the data does the same, but cannot throw. If the data are the last
/// tile of data that have ended, only the end of the tile writes these back.
/// @throws error, would_deadlock
FLOTILLA_EXPORT void wait_until_unused(datum& which);
/// Begins to write the data back, and returns whether `wait_until_unused` would wait.
[[nodiscard]] FLOTILLA_EXPORT bool is_used(datum& which);
/// @throws invalid_argument  There is no such tile.
[[noreturn]] FLOTILLA_EXPORT void refuse_tile(std::span<std::size_t const> index,
                                              std::span<std::size_t const> extents);
/// @param to  Empty: the host.
FLOTILLA_EXPORT void prefetch(datum& which, std::optional<device_ordinal> to);
[[nodiscard]] FLOTILLA_EXPORT bool is_valid_on(datum& which, std::optional<device_ordinal> place);
[[noreturn]] FLOTILLA_EXPORT void refuse_empty_data();

/// Gives the library's templates access to uses of data. <flotilla/data/uses.hpp> defines it.
struct use_access;
/// Gives the library access to flow and data_launch. src/flows/flow/access.hpp defines it.
struct flow_access;

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
