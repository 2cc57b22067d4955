// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Types that only the library uses: the base class of a runtime's implementation, and the struct
/// through which the library reaches private members of the public classes.

#include <cstdint>

#include <flotilla/detail/export.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// The implementation of a runtime. It lives until the runtime and all of its tickets are gone.
struct runtime_impl {
  /// The runtimes of a process are numbered from 1.
  std::uint64_t const number;
};

/// A friend of the public classes. The library defines it in src/base/access.hpp.
struct access;

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
