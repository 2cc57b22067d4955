// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include <flotilla/c/task.h>
#include <flotilla/detail/bulk_source.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/task/bulk.hpp>

#include "c_api/call.hpp"
#include "c_api/objects.hpp"
#include "c_api/place.hpp"
#include "c_api/submit.hpp"

namespace flotilla::c_api {

namespace {

std::span<flotilla_argument const> arguments_of(flotilla_argument const* first, std::size_t count) {
  if (count != 0) { check_not_null(first, "arguments"); }
  return {first, count};
}

extent extent_of(std::uint32_t const (&sizes)[3]) noexcept {
  return {sizes[0], sizes[1], sizes[2]};
}

void append_place(untyped_launch& to, flotilla_place const& where, held_runtime const& rt) {
  held_buffer& buffer = object(where.buffer);
  if (auto* const on_device = std::get_if<device_bytes>(&buffer.memory)) {
    to.append(rest_of(*on_device, where.offset));
    return;
  }
  check_owner(buffer, rt);
  auto const address = rest_of(std::get<host_bytes>(buffer.memory), where.offset).data();
  to.append(&address, sizeof address);  // the same address on all devices
}

/// Rethrows the current exception, and adds the kernel and the index of the argument to its text.
[[noreturn]] void refuse_place(untyped_kernel const& kernel, std::size_t index) {
  std::string const where =
      "kernel '" + std::string{kernel.name()} + "', argument " + std::to_string(index) + ": ";
  try {
    throw;
  } catch (refused_call const& why) {
    throw refused_call(why.status(), where + why.what());
  } catch (wrong_runtime const& why) {
    throw wrong_runtime(where + why.what());
  } catch (invalid_argument const& why) { throw invalid_argument(where + why.what()); }
}

/// Makes the launch of an item of a bulk, or a single launch.
untyped_launch make_launch(held_kernel const& kernel, flotilla_shape const& shape,
                           std::span<flotilla_argument const> arguments, std::size_t item) {
  untyped_launch made =
      kernel.found
          .with_shape(extent_of(shape.grid), extent_of(shape.block), shape.dynamic_shared_bytes)
          .arguments();
  for (flotilla_argument const& each : arguments) {
    if (each.value != nullptr) {
      made.append(static_cast<std::byte const*>(each.value) + item * each.stride, each.bytes);
      continue;
    }
    try {
      append_place(made, each.place, kernel.owner);
    } catch (...) { refuse_place(kernel.found, made.size()); }
  }
  return made;
}

/// @throws refused_call  There are more items than memory has room for.
void check_items(std::size_t items, std::span<flotilla_argument const> arguments) {
  auto const is_too_far = [items](flotilla_argument const& each) {
    return each.stride != 0 && items > PTRDIFF_MAX / each.stride;
  };
  if (items > PTRDIFF_MAX || std::any_of(arguments.begin(), arguments.end(), is_too_far)) {
    throw refused_call(FLOTILLA_INVALID_ARGUMENT,
                       "a bulk cannot have " + std::to_string(items) + " items");
  }
}

/// The items of a bulk.
struct bulk_items {
  held_kernel const& kernel;
  flotilla_shape const& shape;
  std::span<flotilla_argument const> arguments;
  std::size_t count;

  static void make(void* state, detail::bulk_sink& to) {
    auto const& self = *static_cast<bulk_items const*>(state);
    for (std::size_t item = 0; item < self.count; ++item) {
      untyped_launch const made = make_launch(self.kernel, self.shape, self.arguments, item);
      to.add(&made.complete(), 1);
    }
  }
};

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_submit_launch(flotilla_kernel kernel, flotilla_shape shape,
                                       flotilla_argument const* arguments, size_t count,
                                       flotilla_task_options const* options,
                                       flotilla_ticket* ticket) {
  return guarded_submit("flotilla_submit_launch", ticket, [&] {
    held_kernel const& held = object(kernel);
    flotilla::untyped_launch const made =
        make_launch(held, shape, arguments_of(arguments, count), 0);
    submit(held.owner.rt, made.complete(), options, ticket);
  });
}

flotilla_status flotilla_submit_bulk(flotilla_kernel kernel, flotilla_shape shape,
                                     flotilla_argument const* arguments, size_t count, size_t items,
                                     flotilla_task_options const* options,
                                     flotilla_ticket* ticket) {
  return guarded_submit("flotilla_submit_bulk", ticket, [&] {
    check_not_null(ticket, "ticket");
    held_kernel const& held = object(kernel);
    check_items(items, arguments_of(arguments, count));
    bulk_items all{held, shape, arguments_of(arguments, count), items};
    flotilla::task_options converted;
    if (options != nullptr) { converted = options_of(*options); }
    auto const submit_all = [&] {
      return flotilla::detail::submit_source(held.owner.rt, {items, &all, &bulk_items::make},
                                             converted);
    };
    hand_out(submit_all, *ticket);
  });
}
