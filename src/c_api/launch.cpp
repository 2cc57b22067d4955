// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <flotilla/c/task.h>
#include <flotilla/detail/bulk_columns.hpp>
#include <flotilla/detail/bulk_source.hpp>
#include <flotilla/task/bulk.hpp>

#include "c_api/call.hpp"
#include "c_api/launch_of.hpp"
#include "c_api/objects.hpp"
#include "c_api/prepared_launch.hpp"
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

/// Returns the arguments of the first item: a place with a stride names the bytes of one item.
/// @throws refused_call, invalid_argument  The place of the last item is not inside its buffer.
std::vector<flotilla_argument> first_of(held_kernel const& kernel,
                                        std::span<flotilla_argument const> arguments,
                                        std::size_t items) {
  std::vector<flotilla_argument> made{arguments.begin(), arguments.end()};
  for (std::size_t i = 0; i < made.size(); ++i) {
    flotilla_argument& each = made[i];
    if (each.value != nullptr || each.stride == 0) { continue; }
    if (each.bytes == 0) { each.bytes = each.stride; }
    flotilla_argument last = each;
    last.place.offset += std::min((items - 1) * each.stride, SIZE_MAX - last.place.offset);
    static_cast<void>(memory_of(last, kernel, i));
  }
  return made;
}

std::uintptr_t address_of(argument_memory const& memory) {
  if (auto const* const on_device = std::get_if<device_span<std::byte>>(&memory)) {
    return on_device->address();
  }
  return reinterpret_cast<std::uintptr_t>(std::get<void*>(memory));
}

/// The arguments that differ from item to item.
std::vector<detail::bulk_column> columns_of(held_kernel const& kernel,
                                            std::span<flotilla_argument const> arguments) {
  std::vector<detail::bulk_column> made;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    flotilla_argument const& each = arguments[i];
    if (each.stride == 0) { continue; }
    kernel_parameter const& parameter = kernel.found.parameters()[i];
    std::uintptr_t const address =
        each.value == nullptr ? address_of(memory_of(each, kernel, i)) : 0;
    made.push_back({static_cast<std::byte const*>(each.value), address,
                    static_cast<std::ptrdiff_t>(each.stride), parameter.offset, parameter.bytes});
  }
  return made;
}

/// Submits the items, or posts them if `made` is null.
void submit_items(held_kernel const& kernel, flotilla_shape const& shape,
                  std::span<flotilla_argument const> arguments, std::size_t items,
                  task_options const& options, ticket* made) {
  runtime& rt = kernel.owner.rt;
  if (items == 0) {  // then the values of the arguments need not exist
    detail::bulk_work nothing{0, [](detail::bulk_sink&) {}};
    if (made == nullptr) { return rt.post(std::move(nothing), options); }
    *made = rt.submit(std::move(nothing), options);
    return;
  }
  std::vector<flotilla_argument> const given = first_of(kernel, arguments, items);
  untyped_launch const first = launch_of(kernel, shape, given);
  launch const& common = first.complete();
  detail::submit_columns(rt, common, columns_of(kernel, given), items, options, made);
}

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_submit_launch(flotilla_kernel kernel, flotilla_shape shape,
                                       flotilla_argument const* arguments, size_t count,
                                       flotilla_task_options const* options,
                                       flotilla_ticket* ticket) {
  return guarded_submit("flotilla_submit_launch", ticket, [&] {
    prepared_launch::with(kernel, shape, arguments_of(arguments, count),
                          [&](held_kernel const& held, flotilla::launch const& made) {
                            submit(held.owner.rt, made, options, ticket);
                          });
  });
}

flotilla_status flotilla_submit_bulk(flotilla_kernel kernel, flotilla_shape shape,
                                     flotilla_argument const* arguments, size_t count, size_t items,
                                     flotilla_task_options const* options,
                                     flotilla_ticket* ticket) {
  return guarded_submit("flotilla_submit_bulk", ticket, [&] {
    held_kernel const& held = object(kernel);
    auto const given = arguments_of(arguments, count);
    check_items(items, given);
    flotilla::task_options converted;
    if (options != nullptr) { converted = options_of(*options); }
    if (ticket == nullptr) { return submit_items(held, shape, given, items, converted, nullptr); }
    hand_out(
        [&] {
          flotilla::ticket made;
          submit_items(held, shape, given, items, converted, &made);
          return made;
        },
        *ticket);
  });
}
