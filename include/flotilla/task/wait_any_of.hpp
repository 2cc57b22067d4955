// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Waits for the first task of objects that contain tickets.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include <flotilla/task/completion.hpp>
#include <flotilla/task/dependency_list.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {

template <class Range, class Projection>
concept task_objects = std::ranges::forward_range<Range> &&
    std::invocable<Projection&, std::ranges::range_reference_t<Range>> &&
    std::convertible_to<std::invoke_result_t<Projection&, std::ranges::range_reference_t<Range>>,
                        dependency_list::item>;

/// The objects of a range that name a task.
template <class Range>
struct found_objects {
  dependency_list tasks;
  std::vector<std::ranges::iterator_t<Range>> objects;

  template <class Projection>
  found_objects(Range& range, Projection& projection) {
    for (auto each = std::ranges::begin(range); each != std::ranges::end(range); ++each) {
      dependency_list::item const task = std::invoke(projection, *each);
      if (task.id.runtime == 0) { continue; }
      tasks.add(task);
      objects.push_back(each);
    }
  }
};

}  // namespace detail

/// Waits until the task of one of the objects has ended, as wait_any does. The tickets lie in
/// objects of the user, for example `wait_any_of(seats, &seat::done)`. Objects whose ticket names
/// no task are skipped. Several objects may name the same task.
/// @param projection  Returns the ticket, task_id or a reference to the ticket of an object.
/// @return The first object in the range whose task has ended.
/// @throws invalid_argument  No object names a task.
/// @throws wrong_runtime, would_deadlock  as wait_any
/// Lifetime  as wait_any
/// Cost      The call makes a list of the tasks, and polls like wait_any.
template <class Range, class Projection = std::identity>
requires detail::task_objects<Range, Projection>
[[nodiscard]] std::ranges::borrowed_iterator_t<Range> wait_any_of(Range&& objects,
                                                                  Projection projection = {}) {
  detail::found_objects<std::remove_reference_t<Range>> const found{objects, projection};
  return found.objects[wait_any(found.tasks)];
}
/// Waits as `wait_any_of` does, but only until `when`. @return The end of the range if no task has
/// ended.
template <class Range, class Projection = std::identity>
requires detail::task_objects<Range, Projection>
[[nodiscard]] std::ranges::borrowed_iterator_t<Range> wait_any_of_until(
    Range&& objects, std::chrono::steady_clock::time_point when, Projection projection = {}) {
  detail::found_objects<std::remove_reference_t<Range>> const found{objects, projection};
  std::optional<std::size_t> const first = wait_any_until(found.tasks, when);
  return first ? found.objects[*first]
               : std::ranges::next(std::ranges::begin(objects), std::ranges::end(objects));
}

}  // namespace v0_1
}  // namespace flotilla
