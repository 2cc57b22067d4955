// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a bulk passes its items to the library.
///
/// Launches of one kernel with one shape are passed as *chunks*: the templates of this header write
/// the arguments of many items into records (see kernel_twin.hpp), without a call of the library
/// for each item. All other items are passed one by one.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <flotilla/detail/export.hpp>
#include <flotilla/detail/kernel_twin.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/kernel/kernel.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/kernel/launch_shape.hpp>
#include <flotilla/memory/memory_op.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// What the launches of a chunk have in common.
struct launches_form {
  kernel_ref kernel;
  launch_shape shape;
  std::uint32_t argument_bytes = 0;      ///< of each launch
  std::optional<device_ordinal> device;  ///< of all buffers and spans; empty: there are none
};

/// The answer of bulk_sink::begin_chunk.
struct chunk_room {
  /// Memory for the records of the next items, one behind the other, `twin_record_stride` bytes
  /// each. Null: the next items must be added one by one.
  std::byte* records;
  /// How many items there is room for. If `records` is null: how many items to add one by one
  /// before the next call of begin_chunk. At least 1.
  std::size_t items;
};

/// Receives the items of a bulk, in order.
class bulk_sink {
 public:
  virtual void add(launch const* first, std::size_t count) = 0;
  virtual void add(memory_op const& what) = 0;
  /// Asks for memory for the next items. Then the caller writes records and calls `end_chunk`, and
  /// calls no other function in between.
  virtual chunk_room begin_chunk(launches_form const& form) = 0;
  /// Adds the items whose records were written.
  virtual void end_chunk(std::size_t items) = 0;

 protected:
  ~bulk_sink() = default;
};

/// Makes the items of a bulk.
struct bulk_source {
  std::size_t count;
  void* state;
  /// Adds `count` items, or throws.
  void (*make)(void* state, bulk_sink& to);
};

/// Throws a bulk_error whose cause is the invalid_argument that is being handled.
[[noreturn]] FLOTILLA_EXPORT void refuse_item(std::size_t index, std::size_t count);

/// Passes launches of one kernel with one shape to a sink.
/// @tparam Kernel  What kernel::over and kernel::with_shape return.
template <class Kernel,
          class = decltype(launch_builder::parameters_of(std::declval<Kernel const&>()))>
class launch_writer;

template <class Kernel, class... Parameters>
class launch_writer<Kernel, parameter_types<Parameters...>> {
 public:
  /// @param count  The number of items of the bulk.
  launch_writer(Kernel const& kernel, std::size_t count, bulk_sink& to)
      : kernel_{kernel}, count_{count}, to_{to} {
    launch_shape const& shape = kernel.shape();
    head_.grid = {shape.grid.x, shape.grid.y, shape.grid.z};
    blocks_ = shape.grid.x * shape.grid.y * shape.grid.z;
  }

  /// Adds the launch with the index `index`.
  template <class... Arguments>
  void add(std::size_t index, Arguments&&... arguments) {
    if constexpr (may_have_records && sizeof...(Arguments) == sizeof...(Parameters)) {
      if constexpr ((converts<Parameters, Arguments> && ...)) {
        if (has_room() && (is_here(arguments) && ...)) [[likely]] {
          return write(index, arguments...);
        }
        close();
        if (begin_chunk(arguments...)) { return write(index, arguments...); }
      }
    }
    launch const made = [&] {
      try {
        return kernel_(std::forward<Arguments>(arguments)...);
      } catch (invalid_argument const&) { refuse_item(index, count_); }
    }();
    to_.add(&made, 1);
  }
  /// Passes on the items that were written so far. Call it after the last item, and before an
  /// exception leaves the loop over the items.
  void close() {
    std::byte* const first = std::exchange(first_, nullptr);
    if (first != nullptr) { to_.end_chunk(static_cast<std::size_t>(next_ - first) / stride); }
    next_ = end_ = nullptr;
  }

 private:
  using layout = argument_layout<Parameters...>;
  static constexpr bool may_have_records =
      layout::bytes <= launch::inline_bytes && !(std::is_same_v<Parameters, task_status> || ...);
  static constexpr std::uint32_t stride = twin_record_stride(layout::bytes);
  // Otherwise kernel::configured reports an error when it is compiled.
  template <class Parameter, class Argument>
  static constexpr bool converts = requires(std::remove_reference_t<Argument>& argument) {
    static_cast<Parameter>(argument);
  };

  [[nodiscard]] bool has_room() const noexcept { return next_ != end_; }
  /// Returns whether the argument can be an argument of an item of the chunk.
  template <class Argument>
  [[nodiscard]] bool is_here(Argument const& argument) const noexcept {
    if constexpr (is_on_device<Argument>) {
      device_range const range = range_access::range(argument);
      return range.owner() == owner() && range.device() == device_;
    } else {
      return true;
    }
  }
  /// Uses the device of the argument for the chunk if the argument is on a device.
  template <class Argument>
  void use_device(Argument const& argument) noexcept {
    if constexpr (is_on_device<Argument>) { device_ = range_access::range(argument).device(); }
  }
  [[nodiscard]] runtime_impl* owner() const noexcept {
    return launch_builder::found(kernel_).owner;
  }

  /// Begins a chunk with these arguments. Returns false if the item must be added alone.
  template <class... Arguments>
  [[nodiscard]] bool begin_chunk(Arguments const&... arguments) {
    if (alone_ != 0) {
      --alone_;
      return false;
    }
    (use_device(arguments), ...);
    if (!(is_here(arguments) && ...)) { return false; }
    constexpr bool is_anywhere = !(is_on_device<Arguments> || ...);
    launches_form form{launch_builder::found(kernel_), kernel_.shape(), layout::bytes,
                       std::nullopt};
    if constexpr (!is_anywhere) { form.device = device_; }
    chunk_room const room = to_.begin_chunk(form);
    if (room.records == nullptr) {
      alone_ = room.items - 1;
      return false;
    }
    first_ = next_ = room.records;
    end_ = next_ + room.items * stride;
    head_.first_block = 0;
    return true;
  }
  template <class... Arguments>
  void write(std::size_t index, Arguments&... arguments) {
    try {
      kernel_ref const& found = launch_builder::found(kernel_);
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (put<layout::offsets[I]>(converted<Parameters>(found.owner, found.index, I, arguments)),
         ...);
      }
      (std::index_sequence_for<Parameters...>{});
    } catch (invalid_argument const&) {
      // A conversion has thrown. The items before this one were written.
      close();
      refuse_item(index, count_);
    }
    std::memcpy(next_, &head_.first_block, sizeof head_.first_block);
    std::memcpy(next_ + sizeof head_.first_block, &head_.grid, sizeof head_.grid);
    head_.first_block += blocks_;
    next_ += stride;
  }
  template <std::size_t Offset, class Parameter>
  void put(Parameter const& value) noexcept {
    std::memcpy(next_ + sizeof(twin_record) + Offset, &value, sizeof value);
  }

  Kernel const& kernel_;
  std::size_t const count_;
  bulk_sink& to_;
  std::byte* first_ = nullptr;  // the first record of the chunk; null: no chunk is open
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  twin_record head_{};
  std::uint32_t blocks_ = 0;
  device_ordinal device_{};
  std::size_t alone_ = 0;  // the number of items to add one by one
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
