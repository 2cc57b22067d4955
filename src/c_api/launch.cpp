// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include <flotilla/c/task.h>
#include <flotilla/detail/bulk_source.hpp>
#include <flotilla/task/bulk.hpp>

#include "c_api/call.hpp"
#include "c_api/launch_of.hpp"
#include "c_api/objects.hpp"
#include "c_api/submit.hpp"

namespace flotilla::c_api {

namespace {

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
      untyped_launch const made = launch_of(self.kernel, self.shape, self.arguments, item);
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
    flotilla::untyped_launch const made = launch_of(held, shape, arguments_of(arguments, count));
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
