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

#include <flotilla/data/uses.hpp>
#include <flotilla/detail/kernel_argument.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/kernel/data_launch.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/kernel/task_status.hpp>
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
inline constexpr bool is_data_use = false;
template <class Element, int Rank>
inline constexpr bool is_data_use<data_use<Element, Rank>> = true;

/// Whether a kernel parameter can receive the address of data whose elements have this type: as a
/// pointer, or as a view of the same rank.
template <class Parameter, class Element, int Rank>
inline constexpr bool takes_data =
    std::is_pointer_v<Parameter>&& std::is_convertible_v<Element*, Parameter>;
template <class T, class Element, int Rank>
inline constexpr bool takes_data<view<T, Rank>, Element, Rank> =
    std::is_convertible_v<Element*, T*>&& std::is_same_v<T const, Element const>;

[[noreturn]] FLOTILLA_EXPORT void refuse_argument(launch const& to, std::size_t index);

/// Makes kernels, and launches for kernels.
struct launch_builder {
  template <class... Parameters>
  static flotilla::kernel<Parameters...> make_kernel(kernel_ref const& found) noexcept {
    return flotilla::kernel<Parameters...>{found};
  }
  static launch make(kernel_ref const& kernel, launch_shape const& shape,
                     std::span<parameter_info const> parameters) noexcept {
    return {kernel, shape, parameters};
  }

  /// Checks a buffer or span that is argument `index`, and records its device. If it is the first
  /// one, the launch runs on its device, unless the task names a device.
  static void append_range(launch& to, std::size_t index, device_range const& range,
                           bool is_read_only) {
    if (range.owner() != to.owner_) { refuse_argument(to, index); }
    to.append_range({index, range.bytes(), range.device(), is_read_only});
  }

  /// Returns the bytes of the arguments, to change them.
  [[nodiscard]] static std::byte* arguments(launch& of) noexcept {
    return of.large_ ? of.large_.get() : of.small_;
  }

  /// The kernel in what `over` or `with_shape` returns.
  template <class Configured>
  static kernel_ref const& found(Configured const& kernel) noexcept {
    return kernel.kernel_.found_;
  }
  template <class Configured>
  static auto parameters_of(Configured const&) noexcept {
    return typename Configured::parameters{};
  }

  static std::size_t next_offset(launch const& to, std::size_t alignment) noexcept {
    return (to.bytes_ + alignment - 1) & ~(alignment - 1);
  }

  /// Appends a use of data. The flow writes its address later.
  template <class Parameter, class Element, int Rank>
  static void append_use(launch& to, data_launch& all, data_use<Element, Rank> const& use) {
    static_assert(takes_data<Parameter, Element, Rank>,
                  "the parameter of a kernel for data must be a pointer to the element type or a "
                  "view of the same rank; for data that are only read, pointer or view to const");
    if constexpr (takes_data<Parameter, Element, Rank>) {
      constexpr bool is_pointer = std::is_pointer_v<Parameter>;
      all.add(use_access::what(use),
              {static_cast<std::uint16_t>(next_offset(to, alignof(Parameter))),
               is_pointer ? std::uint8_t{0} : std::uint8_t{Rank}, sizeof(Element)});
      if constexpr (is_pointer) {
        Parameter const unknown = nullptr;
        to.append(&unknown, sizeof unknown, alignof(Parameter));
      } else {
        view<Element, Rank> const made = use_access::view_of(use, {});
        to.append(&made, sizeof made, alignof(Parameter));
      }
    }
  }

  /// Appends all arguments of a launch of which at least one is a use of data.
  template <class... Parameters, class... Arguments>
  static data_launch make_data_launch(launch&& begun, parameter_types<Parameters...>,
                                      Arguments&... arguments) {
    static_assert((0 + ... + int{is_data_use<std::remove_cvref_t<Arguments>>}) <= int{max_uses},
                  "a launch can use at most 16 data");
    data_launch made{std::move(begun)};
    auto const append_one = [&]<std::size_t Index, class Parameter>(
                                std::integral_constant<std::size_t, Index>,
                                parameter_types<Parameter>, auto& argument) {
      if constexpr (is_data_use<std::remove_cvref_t<decltype(argument)>>) {
        append_use<Parameter>(made.plain_, made, argument);
      } else {
        append<Index, Parameter>(made.plain_, argument);
      }
    };
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (append_one(std::integral_constant<std::size_t, Index>{}, parameter_types<Parameters>{},
                  arguments),
       ...);
    }
    (std::index_sequence_for<Arguments...>{});
    return made;
  }

  template <std::size_t Index, class Parameter, class Argument>
  static void append(launch& to, Argument& argument) {
    using checked =
        kernel_argument<argument_index<Index>, parameter_type<Parameter>, argument_type<Argument>>;
    if constexpr (checked::is_on_device) {
      append_range(to, Index, range_access::range(argument), false);
    }
    if constexpr (checked::converts) {  // otherwise a static_assert has failed
      auto const value = converted<Parameter>(to.owner_, to.kernel_, Index, argument);
      if constexpr (std::is_same_v<Parameter, task_status>) {
        to.status_offset_ = static_cast<std::uint16_t>(next_offset(to, alignof(Parameter)));
        to.attributed_ = to.goes_alone_ = to.is_special_ = true;
      }
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
  static_assert((0 + ... + int{std::is_same_v<Parameters, task_status>}) <= 1,
                "a kernel may have at most one parameter of type task_status");

 public:
  /// A kernel with its grid and block. Call this object with the arguments to make a launch.
  /// shape_functions describes the functions that set attributes.
  class configured : public shape_functions<configured> {
   public:
    /// Returns the launch. Each argument is converted to the type of its parameter. A device_buffer
    /// or device_span is converted to its address. The launch runs on the device that the task
    /// names, or else on the device of the first buffer or span. Buffers and spans may be on
    /// several devices if the device of the launch can access the memory of the others (see
    /// can_access_peer): `submit` checks this. A floating-point argument does not convert to an
    /// integral parameter, and an integer of a wider type must fit. If an argument is a use of data
    /// (`read(a)`, `write(b)` or `update(c)`), the result is a data_launch, which a flow submits.
    /// @throws wrong_runtime     A buffer belongs to another runtime.
    /// @throws invalid_argument  An integer does not fit into the type of its parameter.
    template <class... Arguments>
    [[nodiscard]] auto operator()(Arguments&&... arguments) const {
      static_assert(sizeof...(Arguments) == sizeof...(Parameters),
                    "the number of arguments differs from the kernel's number of parameters");
      launch made = detail::launch_builder::make(kernel_.found_, this->shape(),
                                                 detail::parameter_table<Parameters...>);
      if constexpr (sizeof...(Arguments) != sizeof...(Parameters)) {
        return made;  // the static_assert has failed
      } else if constexpr ((detail::is_data_use<std::remove_cvref_t<Arguments>> || ...)) {
        return detail::launch_builder::make_data_launch(
            std::move(made), detail::parameter_types<Parameters...>{}, arguments...);
      } else {
        [&]<std::size_t... Index>(std::index_sequence<Index...>) {
          (detail::launch_builder::append<Index, Parameters>(made, arguments), ...);
        }
        (std::index_sequence_for<Arguments...>{});
        return made;
      }
    }

   private:
    friend kernel;
    friend struct detail::launch_builder;
    using parameters = detail::parameter_types<Parameters...>;
    configured(kernel const& base, launch_shape const& shape) noexcept
        : shape_functions<configured>{shape}, kernel_{base} {}

    kernel kernel_;
  };

  /// Returns the kernel with a one-dimensional grid of at least `threads` threads, in blocks of
  /// `block` threads. The grid can have more than `threads` threads, so the kernel must check its
  /// index. `submit` refuses zero threads, an empty block, and more blocks than a grid can have.
  /// @throws invalid_argument  `threads` is negative.
  template <class Count>
  [[nodiscard]] configured over(Count threads, std::uint32_t block = 256) const
      noexcept(!std::is_signed_v<Count>) {
    return configured{*this, {detail::grid_for(threads, block), extent{block}}};
  }

  /// Returns the kernel with a grid of `grid` blocks of `block` threads. Each block gets
  /// `dynamic_shared_bytes` bytes of shared memory in addition to the kernel's static shared
  /// memory.
  [[nodiscard]] configured with_shape(extent grid, extent block,
                                      std::uint32_t dynamic_shared_bytes = 0) const noexcept {
    return configured{*this, {grid, block, dynamic_shared_bytes}};
  }

 private:
  friend class program;
  friend struct detail::launch_builder;
  explicit kernel(detail::kernel_ref const& found) noexcept : found_{found} {}

  detail::kernel_ref found_;
};

}  // namespace v0_1
}  // namespace flotilla
