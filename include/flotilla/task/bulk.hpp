// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Many tasks with one ticket.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>

#include <flotilla/detail/bulk_source.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/detail/work.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/kernel/launch_shape.hpp>
#include <flotilla/memory/memory_op.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {

/// @param made  Null: the bulk is posted.
FLOTILLA_EXPORT void submit_source(runtime_impl& to, bulk_source const& items,
                                   task_options const& options, ticket* made);
[[noreturn]] FLOTILLA_EXPORT void refuse_bulk_count(long long count);
[[noreturn]] FLOTILLA_EXPORT void refuse_short_range(std::size_t items, std::size_t count);

template <class Count>
[[nodiscard]] std::size_t bulk_count(Count count) {
  if constexpr (std::is_signed_v<Count>) {
    if (count < 0) { refuse_bulk_count(count); }
  }
  return static_cast<std::size_t>(count);
}

/// What flotilla::bulk returns: `count` items, which `make(sink)` adds to a bulk_sink. It refers to
/// ranges and functions that are lvalues, so it cannot be copied.
template <class Make>
class [[nodiscard]] bulk_work {
 public:
  bulk_work(std::size_t count, Make&& make) : count_{count}, make_(std::move(make)) {}
  bulk_work(bulk_work const&) = delete;
  bulk_work& operator=(bulk_work const&) = delete;

  /// @param made  Null: the bulk is posted.
  void submit(runtime_impl& to, task_options const& options, ticket* made) {
    submit_source(to,
                  {count_, std::addressof(make_),
                   [](void* state, bulk_sink& items) { (*static_cast<Make*>(state))(items); }},
                  options, made);
  }

 private:
  std::size_t count_;
  Make make_;
};

/// Keeps an lvalue by reference, and an rvalue by value.
template <class T>
using kept = std::tuple<T>;

/// Calls `add(element, index)` for each element of the range.
template <class Range, class Add>
void for_each_element(Range& elements, std::size_t count, Add const& add) {
  auto at = std::ranges::begin(elements);
  for (std::size_t index = 0; index < count; ++index) {
    if (at == std::ranges::end(elements)) { refuse_short_range(index, count); }
    add(*at, index);
    ++at;
  }
}

/// Returns the number of elements.
template <class Range>
[[nodiscard]] std::size_t size_of_range(Range& elements) {
  constexpr bool is_sized = std::ranges::sized_range<Range>;
  static_assert(is_sized,
                "bulk needs a range of known size (std::ranges::sized_range); collect the "
                "elements in a std::vector, or pass the number of items and a function");
  if constexpr (is_sized) {
    return bulk_count(std::ranges::size(elements));
  } else {
    return 0;
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

/// An array of launches, which can be passed to the library as a whole.
template <class Range>
concept launch_array = std::ranges::contiguous_range<Range> &&
    std::same_as<std::remove_cv_t<std::ranges::range_value_t<Range>>, launch>;

inline void add_item(launch const& item, bulk_sink& to) { to.add(&item, 1); }
inline void add_item(memory_op const& item, bulk_sink& to) { to.add(item); }

template <class T>
concept argument_tuple = requires {
  std::tuple_size<std::remove_cvref_t<T>>::value;
};

/// Adds the launches of `kernel` whose arguments `for_each(add)` passes to `add(tuple, index)`.
template <class Kernel, class ForEach>
void add_launches(bulk_sink& to, Kernel const& kernel, std::size_t count, ForEach const& for_each) {
  launch_writer<Kernel> writer{kernel, count, to};
  auto const add = [&writer](auto&& arguments, std::size_t index) {
    static_assert(argument_tuple<decltype(arguments)>,
                  "an item of a bulk needs the arguments of one launch as a std::tuple, "
                  "std::pair or std::array");
    if constexpr (argument_tuple<decltype(arguments)>) {
      std::apply([&](auto&&... each) { writer.add(index, std::forward<decltype(each)>(each)...); },
                 std::forward<decltype(arguments)>(arguments));
    }
  };
  try {
    for_each(add);
  } catch (...) {
    writer.close();
    throw;
  }
  writer.close();
}

}  // namespace detail

/// Work for runtime::submit: a launch of `kernel` for each element of `arguments`. There is one
/// ticket for all of them:
///
///     std::vector<std::tuple<flotilla::device_span<float>, int>> parts = …;
///     flotilla::ticket const all = rt.submit(flotilla::bulk(scale.over(n), parts));
///     all.wait();
///
/// The launches are the *items* of the bulk. Each item is a task of its own, with its own copy of
/// the arguments, as if `runtime::submit` had been called for each element in order. But where it
/// can, the runtime launches up to 1024 items as one grid (runtime_options::fuse_launches). Such
/// items end together.
///
/// @param kernel     What `kernel::over` or `kernel::with_shape` returns. All items have this
///                   shape.
/// @param arguments  A range of known size. Each element is a std::tuple, std::pair or std::array
///                   with the arguments of one launch. The compiler checks their types as it does
///                   for a single launch. `submit` reads the range once.
///
/// Options Those of `submit` apply to each item. Without a device, each item runs where it would
///         run as a single task, so the items may run on several devices. A stop cancels all items
///         that are not launched.
/// Use     Pass the result to `submit` or `post` at once, and only once. The number of items is
///         counted here. A range, or a function of the forms below, that is an lvalue is not
///         copied.
/// Ticket  It is ready when all items have ended. The items run even if it is dropped. The ticket
///         of a bulk without items is ready at once. `post` makes none: runtime_options::on_error
///         gets the bulk_error that it would throw.
/// The call of `submit` or `post` also throws:
/// @throws bulk_error  The runtime refused an item: `index()` says which, and `cause()` is what
///                     `submit` would throw, an invalid_argument or missing_dependency.
/// @throws invalid_argument, wrong_runtime, unknown_device  `options` is invalid. Nothing was
///                     submitted.
/// @throws runtime_closed, poisoned, used_after_fork
/// @throws window_full  The window is full, and the caller is inside a callable, where it must not
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
/// Cost    Two or more allocations. For items that are launched as one grid: the call of the
///         function or the step in the range, and the copy of the arguments; these items take one
///         place in the window together. For each other item: the cost of a `submit`. An item is
///         launched as part of a grid if its kernel has a twin (docs/kernels.md#twins) and was
///         measured on the device, if it has no attributes, no task_status and at most 128 bytes of
///         arguments, if at least 64 items in a row have the same kernel, block and device, if
///         `options.batch` is true, if the runtime makes no checks, and if no
///         runtime_options::placement chooses the device. The first such bulk for a device
///         registers host memory for the arguments, which takes about 1 ms. This memory is at most
///         2 MiB for each device, whatever the number of items. The ticket takes one place in the
///         window of the tasks that any device may run. While a bulk is open, one worker polls for
///         ended tasks, and a wait with `blocking` alternates between sleeping and polling.
template <detail::shaped_kernel Kernel, std::ranges::input_range Range>
[[nodiscard]] auto bulk(Kernel const& kernel, Range&& arguments) {
  std::size_t const count = detail::size_of_range(arguments);
  return detail::bulk_work{
      count, [kernel, count, held = detail::kept<Range>(std::forward<Range>(arguments))](
                 detail::bulk_sink& to) mutable {
        detail::add_launches(to, kernel, count, [&](auto const& add) {
          detail::for_each_element(std::get<0>(held), count, add);
        });
      }};
}

/// Work for runtime::submit: `count` launches of `kernel`. `function(index)` returns the arguments
/// of one launch as a std::tuple, std::pair or std::array. `submit` calls it once for each index in
/// [0, count), in order. It may throw. All rules of the function above apply.
/// @throws invalid_argument  `count` is negative.
template <detail::shaped_kernel Kernel, std::integral Count, std::invocable<std::size_t> Function>
[[nodiscard]] auto bulk(Kernel const& kernel, Count count, Function&& function) {
  std::size_t const items = detail::bulk_count(count);
  return detail::bulk_work{
      items, [kernel, items, held = detail::kept<Function>(std::forward<Function>(function))](
                 detail::bulk_sink& to) mutable {
        detail::add_launches(to, kernel, items, [&](auto const& add) {
          for (std::size_t index = 0; index < items; ++index) {
            add(std::invoke(std::get<0>(held), index), index);
          }
        });
      }};
}

/// Work for runtime::submit: the copies, fills or launches in `items`, a range of memory_op or of
/// launch whose size is known. The launches may have different kernels. Launches that follow each
/// other and have the same kernel, block, shared memory and device may be one grid. All rules of
/// the functions above apply.
template <std::ranges::input_range Range>
requires detail::bulk_item<std::ranges::range_reference_t<Range>>
[[nodiscard]] auto bulk(Range&& items) {
  std::size_t const count = detail::size_of_range(items);
  return detail::bulk_work{
      count, [count, held = detail::kept<Range>(std::forward<Range>(items))](
                 detail::bulk_sink& to) mutable {
        auto& all = std::get<0>(held);
        if constexpr (detail::launch_array<Range>) {
          auto const present = static_cast<std::size_t>(
              std::ranges::distance(std::ranges::begin(all), std::ranges::end(all)));
          to.add(std::ranges::data(all), std::min(present, count));
          if (present < count) { detail::refuse_short_range(present, count); }
        } else {
          detail::for_each_element(all, count,
                                   [&to](auto&& item, std::size_t) { detail::add_item(item, to); });
        }
      }};
}

/// Work for runtime::submit: the `count` copies, fills or launches that `function(index)` returns.
/// All rules of the functions above apply.
template <std::integral Count, std::invocable<std::size_t> Function>
requires detail::bulk_item<std::invoke_result_t<Function&, std::size_t>>
[[nodiscard]] auto bulk(Count count, Function&& function) {
  std::size_t const items = detail::bulk_count(count);
  return detail::bulk_work{items, [items, held = detail::kept<Function>(std::forward<Function>(
                                              function))](detail::bulk_sink& to) mutable {
                             for (std::size_t index = 0; index < items; ++index) {
                               auto const& item = std::invoke(std::get<0>(held), index);
                               detail::add_item(item, to);
                             }
                           }};
}

namespace detail {

template <class Make>
bool submit_work(runtime_impl& to, bulk_work<Make>&& what, task_options const& options, if_full,
                 ticket* made) {
  what.submit(to, options, made);
  return true;
}

}  // namespace detail

}  // namespace v0_1
}  // namespace flotilla
