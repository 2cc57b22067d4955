#pragma once
/// Kernels with their parameter types.

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include <flotilla/error.hpp>
#include <flotilla/launch.hpp>

namespace flotilla {

namespace detail {

/// Size and alignment of one parameter, in bytes, as the compiler lays it out.
struct parameter_layout {
  std::size_t bytes;
  std::size_t alignment;
};

/// An argument that lies on a device and says so: a device_buffer.
template <class T>
concept on_device = requires(T const& value) {
  { value.device() } -> std::convertible_to<device_ordinal>;
  { value.owner() } -> std::convertible_to<dispatch::core*>;
};

[[noreturn]] FLOTILLA_EXPORT void refuse_argument(launch const& to, std::size_t index,
                                                  device_ordinal device, bool of_other_runtime);

template <class Parameter, class Argument>
void append_argument(launch& to, std::size_t index, Argument const& argument) {
  if constexpr (on_device<Argument>) {
    bool const foreign = argument.owner() != to.owner();
    if (foreign || !to.require(argument.device())) {
      refuse_argument(to, index, argument.device(), foreign);
    }
  }
  Parameter const value = static_cast<Parameter>(argument);
  to.append(&value, sizeof value, alignof(Parameter));
}

}  // namespace detail

/// A kernel of a loaded program; `Parameters` are those of its `__global__` function, in order, trivially
/// copyable. Got from `program::kernel`, which checked their sizes and offsets. A copy is as good.
///
/// Threads: as an int. Lifetime: the runtime must live when what it makes is submitted.
template <class... Parameters>
class kernel {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                "kernel parameters are copied as bytes");

 public:
  kernel(dispatch::core& owner, std::uint32_t index) noexcept : owner_{&owner}, index_{index} {}

  /// A kernel with its width, waiting for its arguments.
  class widened {
   public:
    widened(kernel const& of, extent grid, extent block, std::uint32_t shared) noexcept
        : kernel_{of}, grid_{grid}, block_{block}, shared_{shared} {}

    /// The launch. Each argument converts to its parameter; a device_buffer gives its address, and the
    /// launch then goes to the buffer's device.
    /// @throws invalid_argument  Two buffers lie on different devices.
    /// @throws wrong_runtime     A buffer belongs to another runtime.
    template <class... Arguments>
    [[nodiscard]] launch operator()(Arguments const&... arguments) const {
      static_assert(sizeof...(Arguments) == sizeof...(Parameters),
                    "as many arguments as the kernel has parameters");
      launch made{*kernel_.owner_, kernel_.index_, grid_, block_, shared_};
      [[maybe_unused]] std::size_t index = 0;
      (detail::append_argument<Parameters>(made, index++, arguments), ...);
      return made;
    }

   private:
    kernel kernel_;
    extent grid_;
    extent block_;
    std::uint32_t shared_;
  };

  /// At least `threads` threads in one direction: blocks of `block`, the last one filled up (a kernel
  /// must test its index). Zero threads, or a block of none, is refused by `submit`; more blocks than a grid can
  /// have are refused by the driver.
  [[nodiscard]] widened over(std::uint64_t threads, std::uint32_t block = 256) const noexcept {
    constexpr std::uint64_t most = UINT32_MAX;  // a cut number would launch fewer threads than asked for
    std::uint64_t const blocks = block == 0 ? 0 : threads / block + (threads % block != 0);
    return widened{*this, extent{static_cast<std::uint32_t>(blocks < most ? blocks : most)}, extent{block}, 0};
  }

  /// A grid of `grid` blocks of `block` threads, each block with `dynamic_shared_bytes` bytes of shared
  /// memory beside what it declares.
  [[nodiscard]] widened on(extent grid, extent block, std::uint32_t dynamic_shared_bytes = 0) const noexcept {
    return widened{*this, grid, block, dynamic_shared_bytes};
  }

 private:
  dispatch::core* owner_;
  std::uint32_t index_;
};

}  // namespace flotilla
