// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Views of pinned host memory.

#include <cstddef>
#include <span>
#include <type_traits>

#include <flotilla/detail/device_range.hpp>

namespace flotilla {
inline namespace v0_1 {

template <class T>
class host_buffer;

/// A view of consecutive objects in a host_buffer, or in pinned memory of the application (see
/// view_pinned_memory in <flotilla/interop.hpp>). Copies from and to this memory need no staging.
/// The view converts to std::span, but a copy from or to that std::span is staged.
///
/// Lifetime: a span must not be used after its buffer is gone. Memory of the application must stay
/// pinned until the tasks that use it have ended. Threads: same rules as for a pointer.
template <class T>
class host_span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  host_span() noexcept = default;
  /// A view of mutable objects converts to a view of const objects.
  template <class U>
  requires(std::is_same_v<U const, T> && !std::is_same_v<U, T>) host_span(host_span<U> other)
  noexcept : span_{other}, kind_{detail::range_access::kind(other)} {}

  [[nodiscard]] T* data() const noexcept { return span_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return span_.size(); }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return span_.size_bytes(); }
  [[nodiscard]] bool empty() const noexcept { return span_.empty(); }
  [[nodiscard]] T* begin() const noexcept { return data(); }
  [[nodiscard]] T* end() const noexcept { return data() + size(); }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data()[i]; }
  operator std::span<T>() const noexcept { return span_; }
  operator std::span<T const>() const noexcept requires(!std::is_const_v<T>) { return span_; }

  /// Returns a view of the `count` objects that start at index `offset`. By default the view ends
  /// where this span ends.
  /// @throws invalid_argument  The objects are not inside the span.
  [[nodiscard]] host_span subspan(std::size_t offset,
                                  std::size_t count = std::dynamic_extent) const {
    return host_span{span_.subspan(offset, detail::checked_part(size(), offset, count)), kind_};
  }

 private:
  template <class>
  friend class host_buffer;
  friend struct detail::range_access;
  host_span(std::span<T> span, detail::host_memory kind) noexcept : span_{span}, kind_{kind} {}

  std::span<T> span_;
  detail::host_memory kind_ = detail::host_memory::pinned;
};

}  // namespace v0_1
}  // namespace flotilla
