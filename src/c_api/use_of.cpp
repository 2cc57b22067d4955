// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/use_of.hpp"

#include <mutex>
#include <string>

#include <flotilla/detail/memory_command.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/kernel/untyped_data_launch.hpp>

#include "c_api/call.hpp"
#include "c_api/launch_of.hpp"

namespace flotilla::c_api {

namespace {

[[noreturn]] void refuse(std::string const& why) {
  throw refused_call(FLOTILLA_INVALID_ARGUMENT, why);
}

/// Returns the operation of a use. Uses with the same pointer get the same object, which exists
/// until the runtime ends.
detail::reduction const* reduction_of(held_runtime& rt, held_data const& data,
                                      flotilla_reduction const* given) {
  if (given != nullptr) { check_size(*given, "flotilla_reduction"); }
  if (given == nullptr || given->identity == nullptr || given->combine == nullptr) {
    refuse("a use that reduces data needs a reduction with an identity and a function");
  }
  if (data.is_token()) { refuse("a token cannot be reduced"); }
  if (data.object_bytes > detail::memory_command::max_pattern_bytes) {
    refuse("data whose objects have " + std::to_string(data.object_bytes) +
           " bytes cannot be reduced; the maximum is " +
           std::to_string(detail::memory_command::max_pattern_bytes));
  }
  std::lock_guard const lock{rt.mutex};
  return &rt.reductions.try_emplace(given, detail::reduction{given->identity, given->combine})
              .first->second;
}

detail::access_mode mode_of(int access) {
  switch (access) {
    case FLOTILLA_ACCESS_READ: return detail::access_mode::read;
    case FLOTILLA_ACCESS_WRITE: return detail::access_mode::write;
    case FLOTILLA_ACCESS_UPDATE: return detail::access_mode::update;
    case FLOTILLA_ACCESS_COMMUTE: return detail::access_mode::commute;
    case FLOTILLA_ACCESS_REDUCE: return detail::access_mode::reduce;
  }
  refuse("there is no access " + std::to_string(access));
}

/// Returns whether the use names nothing, for example because its data were never made.
bool is_empty(flotilla_use const& given) noexcept {
  return given.data.id == 0 && given.argument.value == nullptr &&
         given.argument.place.buffer.id == 0;
}

}  // namespace

std::span<flotilla_use const> uses_of(flotilla_use const* first, std::size_t count,
                                      char const* name) {
  if (count != 0) { check_not_null(first, name); }
  return {first, count};
}

detail::datum_use use_of(held_flow const& flow, flotilla_use const& given) {
  held_data& data = object(given.data);
  if (&data.owner != &flow.owner) {
    throw wrong_runtime("the data belong to another runtime than the flow");
  }
  detail::access_mode const mode = mode_of(given.access);
  return {data.state.get(), mode,
          mode == detail::access_mode::reduce ? reduction_of(data.owner, data, given.reduction)
                                              : nullptr};
}

data_launch data_launch_of(held_flow const& flow, held_kernel const& kernel,
                           flotilla_shape const& shape, std::span<flotilla_use const> arguments) {
  untyped_data_launch made{begin_launch(kernel, shape)};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    flotilla_use const& each = arguments[i];
    if (is_empty(each)) {
      try {
        refuse("it names neither data, nor a value, nor a buffer");
      } catch (...) { refuse_argument(kernel.found, i); }
    }
    if (each.data.id == 0) {
      append_argument(made, i, each.argument, kernel);
      continue;
    }
    detail::datum_use use{};
    try {
      use = use_of(flow, each);
      if (object(each.data).is_token()) { refuse("a launch cannot use a token"); }
    } catch (...) { refuse_argument(kernel.found, i); }
    held_data const& data = object(each.data);
    detail::append_use(made, use, {data.object_bytes, data.extents});
  }
  return made.finish();
}

}  // namespace flotilla::c_api
