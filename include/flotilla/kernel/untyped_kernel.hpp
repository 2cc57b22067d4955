// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kernels whose parameter types are known only at run time, for interpreters and for bindings of
/// other languages.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <flotilla/detail/device_range.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/detail/parameter_info.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/kernel/launch_shape.hpp>
#include <flotilla/memory/device_buffer.hpp>
#include <flotilla/memory/device_span.hpp>

namespace flotilla {
inline namespace v0_1 {

class program;
class untyped_data_launch;

/// One parameter of a kernel.
struct kernel_parameter {
  std::uint32_t offset;  ///< bytes from the start of the arguments
  std::uint32_t bytes;
};

namespace detail {

/// What is known about an untyped kernel. The views refer to memory of the runtime.
struct untyped_signature {
  std::string_view name;
  std::span<kernel_parameter const> parameters;
  std::span<parameter_info const> infos;  // for launches; the types are not known
};

}  // namespace detail

/// A launch of an untyped_kernel to which arguments are added one by one, in the order of the
/// kernel's parameters. Errors name the kernel, the index of the argument, and the number of bytes
/// that was given and expected. After an error, the object is as before the call.
///
/// Threads: same rules as for an `int`. Lifetime: as for a kernel. Cost: as for a launch.
class FLOTILLA_EXPORT untyped_launch {
 public:
  /// Appends a copy of the `bytes` bytes at `value`.
  /// @throws invalid_argument  The kernel has no further parameter, or the next parameter has
  ///                           another size.
  untyped_launch& append(void const* value, std::size_t bytes) {
    if (size_ >= signature_.parameters.size() || signature_.parameters[size_].bytes != bytes)
        [[unlikely]] {
      check_next(bytes);  // throws
    }
    std::size_t const at = signature_.parameters[size_].offset;
    // With a constant size, the compiler makes one instruction of the copy.
    switch (bytes) {
      case 4: made_.put(at, value, 4); break;
      case 8: made_.put(at, value, 8); break;
      default: made_.put(at, value, bytes);
    }
    ++size_;
    return *this;
  }

  /// Appends the address of a span or buffer. The launch runs on the device of the span. An address
  /// that is appended as bytes says nothing about the device.
  /// @throws invalid_argument  The kernel has no further parameter, the next parameter does not
  ///                           have the size of a pointer, or an earlier span is on another device.
  /// @throws wrong_runtime     The span belongs to another runtime.
  template <class T>
  untyped_launch& append(device_span<T> span) {
    return append_range(detail::range_access::range(span), std::is_const_v<T>);
  }
  template <class T>
  untyped_launch& append(device_buffer<T>& buffer) {
    return append(buffer.span());
  }
  template <class T>
  untyped_launch& append(device_buffer<T> const& buffer) {
    return append(buffer.span());
  }

  /// Removes all arguments, so that the object can be used for the next task. Does not help after
  /// the launch was moved out of the object (`finish() &&`).
  untyped_launch& clear() noexcept {
    made_.clear();
    size_ = 0;
    return *this;
  }
  /// Returns how many arguments were appended.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Returns the launch.
  /// @throws invalid_argument  An argument is missing.
  [[nodiscard]] launch finish() const&;
  [[nodiscard]] launch finish() &&;
  /// Returns the launch that this object contains, without a copy. The reference is valid until the
  /// object is changed or destroyed.
  /// @throws invalid_argument  An argument is missing.
  [[nodiscard]] launch const& complete() const {
    if (size_ != signature_.parameters.size()) { refuse_incomplete(); }
    return made_;
  }

 private:
  friend class untyped_kernel;
  friend class untyped_data_launch;
  untyped_launch(detail::kernel_ref const& kernel, detail::untyped_signature const& signature,
                 launch_shape const& shape) noexcept;
  untyped_launch& append_range(detail::device_range const& range, bool is_read_only);
  void check_next(std::size_t bytes) const;
  [[noreturn]] void refuse_incomplete() const;

  detail::untyped_signature signature_;
  launch made_;
  std::size_t size_ = 0;
};

/// A kernel of a loaded program whose parameter types are not known. `program::kernel(name)`
/// creates the object:
///
///     flotilla::untyped_launch next = program.kernel("scale").over(n).arguments();
///     next.append(x).append(&factor, sizeof factor).append(&n, sizeof n);
///     rt.submit(std::move(next).finish());
///
/// The sizes of the parameters come from the driver. The runtime cannot check the types: an `int`
/// for a `float` is not an error.
///
/// Threads: same rules as for an `int`. Lifetime: as for a kernel.
class FLOTILLA_EXPORT untyped_kernel {
 public:
  [[nodiscard]] std::string_view name() const noexcept { return signature_.name; }
  /// Returns the parameters in order. The view is valid until the runtime ends.
  [[nodiscard]] std::span<kernel_parameter const> parameters() const noexcept {
    return signature_.parameters;
  }

  /// The kernel with its grid and block. shape_functions describes the functions that set
  /// attributes.
  class configured : public shape_functions<configured> {
   public:
    /// Returns a launch without arguments.
    [[nodiscard]] untyped_launch arguments() const noexcept {
      return {kernel_, signature_, this->shape()};
    }

   private:
    friend untyped_kernel;
    configured(untyped_kernel const& base, launch_shape const& shape) noexcept
        : shape_functions<configured>{shape}, kernel_{base.found_}, signature_{base.signature_} {}

    detail::kernel_ref kernel_;
    detail::untyped_signature signature_;
  };

  /// As kernel::over and kernel::with_shape.
  template <class Count>
  [[nodiscard]] configured over(Count threads, std::uint32_t block = 256) const
      noexcept(!std::is_signed_v<Count>) {
    return {*this, {detail::grid_for(threads, block), extent{block}}};
  }
  [[nodiscard]] configured with_shape(extent grid, extent block,
                                      std::uint32_t dynamic_shared_bytes = 0) const noexcept {
    return {*this, {grid, block, dynamic_shared_bytes}};
  }

 private:
  friend class program;
  untyped_kernel(detail::kernel_ref const& found,
                 detail::untyped_signature const& signature) noexcept
      : found_{found}, signature_{signature} {}

  detail::kernel_ref found_;
  detail::untyped_signature signature_;
};

}  // namespace v0_1
}  // namespace flotilla
