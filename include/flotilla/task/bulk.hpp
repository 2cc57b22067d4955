// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Many tasks with one ticket.

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>

#include <flotilla/detail/export.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/kernel/launch_shape.hpp>
#include <flotilla/memory/memory_op.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {

/// Receives the items of a bulk, one after the other.
class bulk_sink {
 public:
  virtual void add(launch const& what) = 0;
  virtual void add(memory_op const& what) = 0;

 protected:
  ~bulk_sink() = default;
};

/// Makes the items of a bulk. `next` is called once for each index, in order, and calls `add` once.
struct bulk_source {
  std::size_t count;
  void* state;
  void (*next)(void* state, std::size_t index, bulk_sink& to);
};

FLOTILLA_EXPORT ticket submit_source(runtime& rt, bulk_source const& items,
                                     task_options const& options);
/// Throws a bulk_error whose cause is the invalid_argument that is being handled.
[[noreturn]] FLOTILLA_EXPORT void refuse_item(std::size_t index, std::size_t count);
[[noreturn]] FLOTILLA_EXPORT void refuse_bulk_count(long long count);
[[noreturn]] FLOTILLA_EXPORT void refuse_short_range(std::size_t items, std::size_t count);

template <class Count>
[[nodiscard]] std::size_t bulk_count(Count count) {
  if constexpr (std::is_signed_v<Count>) {
    if (count < 0) { refuse_bulk_count(count); }
  }
  return static_cast<std::size_t>(count);
}

/// Submits the items that `next(index, sink)` adds.
template <class Next>
ticket submit_items(runtime& rt, std::size_t count, Next next, task_options const& options) {
  return submit_source(rt,
                       {count, std::addressof(next),
                        [](void* state, std::size_t index, bulk_sink& to) {
                          (*static_cast<Next*>(state))(index, to);
                        }},
                       options);
}

/// Submits the items that `add(element, index, sink)` makes of the elements of the range.
template <class Range, class Add>
ticket submit_range(runtime& rt, Range&& elements, Add add, task_options const& options) {
  constexpr bool is_sized = std::ranges::sized_range<Range>;
  static_assert(is_sized,
                "submit_bulk needs a range of known size (std::ranges::sized_range); collect the "
                "elements in a std::vector, or pass the number of items and a function");
  if constexpr (is_sized) {
    std::size_t const count = bulk_count(std::ranges::size(elements));
    auto at = std::ranges::begin(elements);
    return submit_items(
        rt, count,
        [&](std::size_t index, bulk_sink& to) {
          if (at == std::ranges::end(elements)) { refuse_short_range(index, count); }
          add(*at, index, count, to);
          ++at;
        },
        options);
  } else {
    return ticket{};
  }
}

/// A kernel with its shape, as kernel::over and kernel::with_shape return it.
template <class T>
concept shaped_kernel = std::derived_from<T, shape_functions<T>> && !requires(T const& kernel) {
  kernel.arguments();
};

template <class T>
concept bulk_item =
    std::same_as<std::remove_cvref_t<T>, launch> || std::same_as<std::remove_cvref_t<T>, memory_op>;

template <class T>
concept argument_tuple = requires {
  std::tuple_size<std::remove_cvref_t<T>>::value;
};

/// Adds a launch of `kernel` with the arguments in the tuple.
template <class Kernel, class Arguments>
void add_launch(Kernel const& kernel, Arguments&& arguments, std::size_t index, std::size_t count,
                bulk_sink& to) {
  static_assert(argument_tuple<Arguments>,
                "an item of a bulk needs the arguments of one launch as a std::tuple, std::pair or "
                "std::array");
  if constexpr (argument_tuple<Arguments>) {
    auto const make = [&](auto&&... each) -> launch {
      try {
        return kernel(std::forward<decltype(each)>(each)...);
      } catch (invalid_argument const&) { refuse_item(index, count); }
    };
    to.add(std::apply(make, std::forward<Arguments>(arguments)));
  }
}

}  // namespace detail

/// Submits a launch of `kernel` for each element of `arguments`, and returns one ticket for all of
/// them:
///
///     std::vector<std::tuple<flotilla::device_span<float>, int>> parts = …;
///     flotilla::ticket const all = submit_bulk(rt, scale.over(n), parts);
///     all.wait();
///
/// The launches are the *items* of the bulk. Each item is a task of its own, with its own copy of
/// the arguments, as if `runtime::submit` had been called for each element in order.
///
/// @param kernel     What `kernel::over` or `kernel::with_shape` returns. All items have this
///                   shape.
/// @param arguments  A range of known size. Each element is a std::tuple, std::pair or std::array
///                   with the arguments of one launch. The compiler checks their types as it does
///                   for a single launch. The range is read once and is not used after the call.
/// @param options    Apply to each item. Without a device, each item runs where it would run as a
///                   single task, so the items may run on several devices. A stop cancels all items
///                   that are not launched.
/// @return The ticket of the bulk. It is ready when all items have ended. The items run even if the
///         ticket is dropped. The ticket of a bulk without items is ready at once.
/// @throws bulk_error  The runtime refused an item: `index()` says which, and `cause()` is what
///                     `submit` would throw, an invalid_argument or missing_dependency.
/// @throws invalid_argument, wrong_runtime, unknown_device  `options` is invalid. Nothing was
///                     submitted.
/// @throws runtime_closed, poisoned, used_after_fork
/// @throws window_full The window is full, and the caller is inside a callable, where it must not
///                     wait.
/// @throws the exceptions of `arguments`
///         If the call throws, the items before that point were submitted and still run, and the
///         others were not. If one of the submitted items fails, runtime_options::on_error gets the
///         bulk_error that the ticket would throw.
///
/// Errors  If items fail, the others still run. The ticket throws a bulk_error with the smallest
///         index of a failed item, and with the error of this item as the cause. Tasks with the
///         ticket in `after` then fail with dependency_failed.
/// Order   Items have no order among each other. All of them run after the tasks in
///         `options.after`. Tasks that have the ticket in `after` run after all items.
/// Cancel  `ticket::cancel` cancels all items that are not launched. It returns true if an item was
///         cancelled, and after the end of the bulk, if the item that the error names was
///         cancelled.
/// Device  `ticket::device` returns the device in `options`, if there is one, and otherwise no
///         device.
/// Threads any, also inside a callable. Inside a callable, a wait for a bulk with an item on the
///         same device throws would_deadlock.
/// Blocks  while a window is full, as `submit` does. The number of items may exceed the window. So
///         the tasks in `after` must be able to end while the call waits.
/// Cost    One allocation, and for each item the cost of a `submit`. The ticket takes one place in
///         the window of the tasks that any device may run. While a bulk is open, one
///         worker polls for ended tasks, and a wait with `blocking` alternates between sleeping and
///         polling.
template <detail::shaped_kernel Kernel, std::ranges::input_range Range>
ticket submit_bulk(runtime& rt, Kernel const& kernel, Range&& arguments,
                   task_options const& options = {}) {
  return detail::submit_range(
      rt, arguments,
      [&kernel](auto&& element, std::size_t index, std::size_t count, detail::bulk_sink& to) {
        detail::add_launch(kernel, std::forward<decltype(element)>(element), index, count, to);
      },
      options);
}

/// Submits `count` launches of `kernel`. `function(index)` returns the arguments of one launch as a
/// std::tuple, std::pair or std::array. It is called once for each index in [0, count), in order,
/// by the calling thread, and may throw. All rules of the function above apply.
/// @throws invalid_argument  `count` is negative. Nothing was submitted.
/// @throws the exceptions of `function`
template <detail::shaped_kernel Kernel, std::integral Count, std::invocable<std::size_t> Function>
ticket submit_bulk(runtime& rt, Kernel const& kernel, Count count, Function&& function,
                   task_options const& options = {}) {
  std::size_t const items = detail::bulk_count(count);
  return detail::submit_items(
      rt, items,
      [&](std::size_t index, detail::bulk_sink& to) {
        detail::add_launch(kernel, std::invoke(function, index), index, items, to);
      },
      options);
}

/// Submits the copies, fills or launches in `items`, a range of memory_op or of launch whose size
/// is known. The launches may have different kernels. All rules of the functions above apply.
template <std::ranges::input_range Range>
requires detail::bulk_item<std::ranges::range_reference_t<Range>> ticket
submit_bulk(runtime& rt, Range&& items, task_options const& options = {}) {
  return detail::submit_range(
      rt, items,
      [](auto&& element, std::size_t, std::size_t, detail::bulk_sink& to) { to.add(element); },
      options);
}

/// Submits the `count` copies, fills or launches that `function(index)` returns. All rules of the
/// functions above apply.
template <std::integral Count, std::invocable<std::size_t> Function>
requires detail::bulk_item<std::invoke_result_t<Function&, std::size_t>> ticket
submit_bulk(runtime& rt, Count count, Function&& function, task_options const& options = {}) {
  return detail::submit_items(
      rt, detail::bulk_count(count),
      [&](std::size_t index, detail::bulk_sink& to) { to.add(std::invoke(function, index)); },
      options);
}

}  // namespace v0_1
}  // namespace flotilla
