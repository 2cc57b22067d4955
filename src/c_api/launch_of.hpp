// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes launches from the arguments of functions of the C interface.

#include <cstddef>
#include <span>
#include <variant>

#include <flotilla/c/task.h>

#include "c_api/objects.hpp"

namespace flotilla::c_api {

/// @throws refused_call  The pointer is null, but `count` is not 0.
[[nodiscard]] std::span<flotilla_argument const> arguments_of(flotilla_argument const* first,
                                                              std::size_t count);

/// Where an argument is: the part of a buffer on a device that the kernel uses, or an address in
/// pinned memory.
using argument_memory = std::variant<device_span<std::byte>, void*>;

/// Rethrows the current exception, and adds the kernel and the index of the argument to its text.
[[noreturn]] void refuse_argument(untyped_kernel const& kernel, std::size_t index);
/// @throws refused_call, wrong_runtime, invalid_argument
[[nodiscard]] argument_memory memory_of(flotilla_argument const& given, held_kernel const& kernel,
                                        std::size_t index);

/// Appends an argument to an untyped_launch or untyped_data_launch.
/// @param index  The index of the argument.
template <class Launch>
void append_argument(Launch& to, std::size_t index, flotilla_argument const& given,
                     held_kernel const& kernel) {
  if (given.value != nullptr) [[likely]] {
    to.append(given.value, given.bytes);
    return;
  }
  argument_memory const memory = memory_of(given, kernel, index);
  if (auto const* const on_device = std::get_if<device_span<std::byte>>(&memory)) {
    to.append(*on_device);
    return;
  }
  void* const address = std::get<void*>(memory);
  to.append(&address, sizeof address);  // the same address on all devices
}

/// Appends all arguments. @throws refused_call, invalid_argument, wrong_runtime
template <class Launch>
void append_arguments(Launch& to, held_kernel const& kernel,
                      std::span<flotilla_argument const> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    append_argument(to, i, arguments[i], kernel);
  }
}

/// Makes a launch without arguments.
[[nodiscard]] untyped_launch begin_launch(held_kernel const& kernel, flotilla_shape const& shape);

/// Makes a launch. Of an argument with a stride, it has the first value.
/// @throws refused_call, invalid_argument, wrong_runtime
[[nodiscard]] untyped_launch launch_of(held_kernel const& kernel, flotilla_shape const& shape,
                                       std::span<flotilla_argument const> arguments);

}  // namespace flotilla::c_api
