// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/memory_op_of.hpp"

#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include <flotilla/detail/device_range.hpp>

#include "c_api/call.hpp"
#include "c_api/place.hpp"

namespace flotilla::c_api {

namespace {

/// One side of a copy: memory of a device, pinned memory, or pageable memory.
using copy_side = std::variant<device_span<std::byte>, host_span<std::byte>, std::span<std::byte>>;

copy_side side_of(flotilla_place const& place, std::size_t bytes, char const* name) {
  if (place.buffer.id == 0) {
    auto* const first = static_cast<std::byte*>(place.host);
    if (bytes != 0) { check_not_null(first, (std::string{name} + ".host").c_str()); }
    return std::span{first, bytes};
  }
  held_buffer& buffer = object(place.buffer);
  return std::visit([&](auto& memory) -> copy_side { return part_of(memory, place.offset, bytes); },
                    buffer.memory);
}

memory_op copy_between(copy_side const& to, copy_side const& from) {
  if (auto const* const target = std::get_if<device_span<std::byte>>(&to)) {
    return std::visit(
        [&](auto const& source) -> memory_op {
          if constexpr (std::is_same_v<decltype(source), std::span<std::byte> const&>) {
            return target->copy_from(std::span<std::byte const>{source});
          } else {
            return target->copy_from(source);
          }
        },
        from);
  }
  auto const* const source = std::get_if<device_span<std::byte>>(&from);
  if (source == nullptr) {
    throw refused_call(FLOTILLA_INVALID_ARGUMENT,
                       "both places are on the host; use memcpy, or a task that does");
  }
  if (auto const* const pinned = std::get_if<host_span<std::byte>>(&to)) {
    return source->copy_to(*pinned);
  }
  return source->copy_to(std::get<std::span<std::byte>>(to));
}

/// Returns the runtime of the buffers of a copy, of which there is at least one.
/// @throws wrong_runtime  They belong to two runtimes.
held_runtime& owner_of(flotilla_place const& to, flotilla_place const& from) {
  if (to.buffer.id == 0) { return object(from.buffer).owner; }
  held_runtime& owner = object(to.buffer).owner;
  if (from.buffer.id != 0) { check_owner(object(from.buffer), owner); }
  return owner;
}

[[noreturn]] void refuse_host() {
  throw refused_call(FLOTILLA_INVALID_ARGUMENT, "'to' is memory of the host; use memset");
}

}  // namespace

owned_memory_op copy_of(flotilla_place const& to, flotilla_place const& from, std::size_t bytes) {
  memory_op const made = copy_between(side_of(to, bytes, "to"), side_of(from, bytes, "from"));
  return {owner_of(to, from), made};
}

owned_memory_op fill_of(flotilla_place const& to, void const* value, std::size_t value_bytes,
                        std::size_t count) {
  check_not_null(value, "value");
  if (to.buffer.id == 0) { refuse_host(); }
  held_buffer& buffer = object(to.buffer);
  auto* const memory = std::get_if<device_bytes>(&buffer.memory);
  if (memory == nullptr) { refuse_host(); }
  if (value_bytes == 0) { throw refused_call(FLOTILLA_INVALID_ARGUMENT, "'value_bytes' is 0"); }
  auto const where = part_of(*memory, to.offset, detail::bytes_of(count, value_bytes));
  return {buffer.owner,
          detail::range_access::range(where).fill(value, count == 0 ? 1 : value_bytes)};
}

}  // namespace flotilla::c_api
