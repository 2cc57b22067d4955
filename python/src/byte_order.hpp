// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The byte order of the numbers in memory of other packages.

#include <string_view>

namespace flotilla::python {

/// Returns whether a format of the buffer protocol, such as ">f" or "T{>i:a:f:b:}", has numbers in
/// another byte order than that of this machine.
[[nodiscard]] bool has_foreign_order(std::string_view format) noexcept;
/// Does the same for a type string of the array interface, such as ">f4".
[[nodiscard]] bool has_foreign_order_typestr(std::string_view text) noexcept;

}  // namespace flotilla::python
