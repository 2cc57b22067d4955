#pragma once
/// Access to what users must not touch, for the library: opaque types, and one friend of every
/// class.

#include <cstdint>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// The library's part of a runtime. It exists as long as the runtime or any of its tickets.
struct runtime_impl {
  /// The number of the runtime. The runtimes of the process are numbered from 1.
  std::uint64_t const number;
};

/// Defined inside the library.
struct access;

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
