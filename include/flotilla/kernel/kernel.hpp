// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Typed kernels.

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <flotilla/error/error.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/memory/device_buffer.hpp>
#include <flotilla/memory/device_span.hpp>

namespace flotilla {
inline namespace v0_1 {

class program;
template <class... Parameters>
class kernel;

namespace detail {

/// The size and alignment of one parameter, in bytes.
struct parameter_layout {
  std::size_t bytes;
  std::size_t alignment;
};

template <class T>
inline constexpr bool is_on_device = false;
template <class T>
inline constexpr bool is_on_device<device_buffer<T>> = true;
template <class T>
inline constexpr bool is_on_device<device_span<T>> = true;

[[noreturn]] FLOTILLA_EXPORT void refuse_argument(launch const& to, std::size_t index,
                                                  device_ordinal device, bool of_other_runtime);
[[noreturn]] FLOTILLA_EXPORT void refuse_thread_count(long long threads);

// Compilers print these names in the errors of kernel_argument.
template <std::size_t>
struct argument_index;
template <class>
struct parameter_type;
template <class>
struct argument_type;

/// Checks one argument of a kernel. The indices of arguments begin with 0.
template <class Index, class Parameter, class Argument>
struct kernel_argument;
template <std::size_t Index, class Parameter, class Argument>
struct kernel_argument<argument_index<Index>, parameter_type<Parameter>, argument_type<Argument>> {
  static constexpr bool converts = requires(Argument & argument) {
    static_cast<Parameter>(argument);
  };
  static constexpr bool is_on_device = detail::is_on_device<std::remove_cv_t<Argument>>;
  static constexpr bool is_host_memory = !is_on_device && requires(Argument & argument) {
    argument.data();
  };
  static_assert(converts || !is_on_device,
                "a device_buffer or device_span needs a kernel parameter that is a pointer to its "
                "element type; if the buffer is const, it needs a pointer to const");
  static_assert(converts || !is_host_memory,
                "host memory cannot be a kernel argument; copy it to a device_buffer");
  static_assert(converts || is_on_device || is_host_memory,
                "a kernel argument does not convert to the type of its parameter");
  static_assert(!(std::is_floating_point_v<Argument> && std::is_integral_v<Parameter>),
                "a floating-point argument of an integral kernel parameter would lose its "
                "fraction; convert it, for example with static_cast");
};

/// Makes kernels, and launches for kernels.
struct launch_builder {
  template <class... Parameters>
  static flotilla::kernel<Parameters...> make_kernel(runtime_impl* owner, std::uint32_t index,
                                                     bool records_ranges) noexcept {
    return {owner, index, records_ranges};
  }
  static launch make(runtime_impl* owner, std::uint32_t kernel, extent grid, extent block,
                     std::uint32_t dynamic_shared_bytes, std::span<parameter_info const> parameters,
                     bool records_ranges) noexcept {
    return {owner, kernel, grid, block, dynamic_shared_bytes, parameters, records_ranges};
  }

  template <std::size_t Index, class Parameter, class Argument>
  static void append(launch& to, Argument& argument) {
    using checked =
        kernel_argument<argument_index<Index>, parameter_type<Parameter>, argument_type<Argument>>;
    if constexpr (checked::is_on_device) {
      device_range const range = range_access::range(argument);
      bool const is_foreign = range.owner() != to.owner_;
      if (is_foreign || !to.require(range.device())) {
        refuse_argument(to, Index, range.device(), is_foreign);
      }
      if (to.records_ranges_) { to.ranges_.push_back({Index, range.bytes()}); }
    }
    if constexpr (checked::converts) {  // otherwise a static_assert has failed
      Parameter const value = static_cast<Parameter>(argument);
      to.append(&value, sizeof value, alignof(Parameter));
    }
  }
};

}  // namespace detail

/// A kernel of a loaded program. `Parameters` are the parameter types of its `__global__` function,
/// in order. Each type must be trivially copyable. `program::kernel` creates the object and checks
/// the sizes and offsets of the parameters.
///
/// Threads: same rules as for an `int`. Lifetime: launches of the kernel must be submitted before
/// the runtime ends.
template <class... Parameters>
class kernel {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                "kernel parameters are copied as bytes");

 public:
  /// A kernel with its grid and block. Call this object with the arguments to make a launch.
  class configured {
   public:
    /// Returns the launch. Each argument is converted to the type of its parameter. A device_buffer
    /// or device_span is converted to its address, and the launch runs on the device of the buffer
    /// or span. A floating-point argument does not convert to an integral parameter.
    /// @throws invalid_argument  Two buffers are on different devices.
    /// @throws wrong_runtime     A buffer belongs to another runtime.
    template <class... Arguments>
    [[nodiscard]] launch operator()(Arguments&&... arguments) const {
      static_assert(sizeof...(Arguments) == sizeof...(Parameters),
                    "the number of arguments differs from the kernel's number of parameters");
      if constexpr (sizeof...(Arguments) == sizeof...(Parameters)) {
        launch made = detail::launch_builder::make(kernel_.owner_, kernel_.index_, grid_, block_,
                                                   shared_, detail::parameter_table<Parameters...>,
                                                   kernel_.records_ranges_);
        [&]<std::size_t... Index>(std::index_sequence<Index...>) {
          (detail::launch_builder::append<Index, Parameters>(made, arguments), ...);
        }
        (std::index_sequence_for<Arguments...>{});
        return made;
      }
    }

   private:
    friend kernel;
    configured(kernel const& base, extent grid, extent block, std::uint32_t shared) noexcept
        : kernel_{base}, grid_{grid}, block_{block}, shared_{shared} {}

    kernel kernel_;
    extent grid_;
    extent block_;
    std::uint32_t shared_;
  };

  /// Returns the kernel with a one-dimensional grid of at least `threads` threads, in blocks of
  /// `block` threads. The grid can have more than `threads` threads, so the kernel must check its
  /// index. `submit` refuses zero threads, an empty block, and more blocks than a grid can have.
  /// @throws invalid_argument  `threads` is negative.
  template <class Count>
  [[nodiscard]] configured over(Count threads, std::uint32_t block = 256) const
      noexcept(!std::is_signed_v<Count>) {
    static_assert(std::is_integral_v<Count>, "the number of threads must be an integer");
    if constexpr (std::is_signed_v<Count>) {
      if (threads < 0) { detail::refuse_thread_count(threads); }
    }
    // Clamped, because a number that wraps around would launch fewer threads than requested.
    constexpr std::uint64_t max_blocks = UINT32_MAX;
    auto const count = static_cast<std::uint64_t>(threads);
    std::uint64_t const blocks = block == 0 ? 0 : count / block + (count % block != 0);
    return configured{*this,
                      extent{static_cast<std::uint32_t>(blocks < max_blocks ? blocks : max_blocks)},
                      extent{block}, 0};
  }

  /// Returns the kernel with a grid of `grid` blocks of `block` threads. Each block gets
  /// `dynamic_shared_bytes` bytes of shared memory in addition to the kernel's static shared
  /// memory.
  [[nodiscard]] configured with_shape(extent grid, extent block,
                                      std::uint32_t dynamic_shared_bytes = 0) const noexcept {
    return configured{*this, grid, block, dynamic_shared_bytes};
  }

 private:
  friend class program;
  friend struct detail::launch_builder;
  kernel(detail::runtime_impl* owner, std::uint32_t index, bool records_ranges) noexcept
      : owner_{owner}, index_{index}, records_ranges_{records_ranges} {}

  detail::runtime_impl* owner_;
  std::uint32_t index_;
  bool records_ranges_;  // see launch
};

}  // namespace v0_1
}  // namespace flotilla
