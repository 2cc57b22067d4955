// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Launches of untyped kernels that use logical data, for interpreters and for bindings of other
/// languages.

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <flotilla/data/uses.hpp>
#include <flotilla/detail/data_use.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/kernel/data_launch.hpp>
#include <flotilla/kernel/untyped_kernel.hpp>

namespace flotilla {
inline namespace v0_1 {

class untyped_data_launch;

namespace detail {

/// The objects of data, whose types are not known.
struct data_shape {
  std::size_t object_bytes;
  std::span<std::size_t const> extents;  // one to three
};

/// As untyped_data_launch::append, for data whose type is not known.
FLOTILLA_EXPORT void append_use(untyped_data_launch& to, datum_use const& use,
                                data_shape const& shape);

}  // namespace detail

/// A launch of an untyped_kernel to which arguments are added one by one, as to an untyped_launch.
/// An argument can also be a use of data:
///
///     flotilla::untyped_data_launch next{program.kernel("axpy").over(n).arguments()};
///     next.append(&factor, sizeof factor).append(read(x)).append(update(y)).append(&n, sizeof n);
///     flow.submit(next.finish());
///
/// The parameter for a use of data must have the size of a pointer, or of a view of the same rank.
/// The types cannot be checked.
///
/// Threads, Lifetime, Cost: as for an untyped_launch. The data must exist when the launch is
/// submitted.
class FLOTILLA_EXPORT untyped_data_launch {
 public:
  explicit untyped_data_launch(untyped_launch begun) noexcept : plain_{std::move(begun)} {}

  /// As the functions of untyped_launch.
  untyped_data_launch& append(void const* value, std::size_t bytes) {
    plain_.append(value, bytes);
    return *this;
  }
  template <class T>
  untyped_data_launch& append(device_span<T> span) {
    plain_.append(span);
    return *this;
  }

  /// Appends a use of data.
  /// @throws invalid_argument  The kernel has no further parameter, the next parameter has another
  ///                           size, or there are more than 16 uses.
  template <class Element, int Rank>
  untyped_data_launch& append(data_use<Element, Rank> const& use) {
    auto const& extents = detail::use_access::extents(use);
    append(detail::use_access::what(use), {sizeof(Element), extents});
    return *this;
  }

  /// Returns the launch. @throws invalid_argument  An argument is missing.
  [[nodiscard]] data_launch finish() const;

 private:
  friend void detail::append_use(untyped_data_launch&, detail::datum_use const&,
                                 detail::data_shape const&);
  void append(detail::datum_use const& use, detail::data_shape const& shape);

  untyped_launch plain_;
  std::size_t count_ = 0;
  // Only the first `count_` elements have values.
  std::array<detail::datum_use, detail::max_uses> uses_;
  std::array<detail::use_argument, detail::max_uses> arguments_;
};

}  // namespace v0_1
}  // namespace flotilla
