// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/launch_of.hpp"

#include <string>

#include <flotilla/error/error.hpp>

#include "c_api/call.hpp"
#include "c_api/place.hpp"

namespace flotilla::c_api {

namespace {

extent extent_of(std::uint32_t const (&sizes)[3]) noexcept {
  return {sizes[0], sizes[1], sizes[2]};
}

/// Returns the part of a buffer that an argument names.
argument_memory memory_at(flotilla_argument const& given, held_runtime const& rt) {
  auto const part = [&given](auto& memory) {
    std::size_t const offset = given.place.offset;
    return given.bytes == 0 ? rest_of(memory, offset) : part_of(memory, offset, given.bytes);
  };
  held_buffer& buffer = object(given.place.buffer);
  if (auto* const on_device = std::get_if<device_bytes>(&buffer.memory)) {
    return part(*on_device);
  }
  check_owner(buffer, rt);
  return part(std::get<host_bytes>(buffer.memory)).data();
}

}  // namespace

void refuse_argument(untyped_kernel const& kernel, std::size_t index) {
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

argument_memory memory_of(flotilla_argument const& given, held_kernel const& kernel,
                          std::size_t index) {
  try {
    return memory_at(given, kernel.owner);
  } catch (...) { refuse_argument(kernel.found, index); }
}

std::span<flotilla_argument const> arguments_of(flotilla_argument const* first, std::size_t count) {
  if (count != 0) { check_not_null(first, "arguments"); }
  return {first, count};
}

untyped_launch begin_launch(held_kernel const& kernel, flotilla_shape const& shape) {
  return kernel.found
      .with_shape(extent_of(shape.grid), extent_of(shape.block), shape.dynamic_shared_bytes)
      .arguments();
}

untyped_launch launch_of(held_kernel const& kernel, flotilla_shape const& shape,
                         std::span<flotilla_argument const> arguments) {
  untyped_launch made = begin_launch(kernel, shape);
  append_arguments(made, kernel, arguments);
  return made;
}

}  // namespace flotilla::c_api
