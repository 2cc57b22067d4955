// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Bulks of launches whose parameter types are known only at run time, for bindings of other
/// languages.

#include <cstddef>
#include <cstdint>
#include <span>

#include <flotilla/detail/export.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

class runtime;

namespace detail {

/// The values of one argument for all items of a bulk.
struct bulk_column {
  std::byte const* first;  ///< the value of the first item; null: the argument is an address
  std::uintptr_t address;  ///< if `first` is null: the address for the first item
  std::ptrdiff_t stride;   ///< bytes from the value, or from the address, of an item to the next
  std::uint32_t offset;    ///< in the arguments of a launch
  std::uint32_t bytes;     ///< of a value
};

/// Submits `count` launches that differ from `common` only in the columns, as one bulk. The values
/// are copied.
/// @param made  Receives the ticket. Null: the bulk is posted.
/// @throws the exceptions of flotilla::bulk
FLOTILLA_EXPORT void submit_columns(runtime& rt, launch const& common,
                                    std::span<bulk_column const> columns, std::size_t count,
                                    task_options const& options, ticket* made);

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
