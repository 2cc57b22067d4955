// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a call that submits passes its options to the library. Most programs name at most a device
// and a few predecessors. After inlining, the compiler knows this, and then it makes no
// task_options: an object of 512 bytes, which g++ first sets to zeros, for more than a quarter of
// the time of a submit (docs/results/h200-submit.txt).

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include <flotilla/detail/export.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/task/dependency_list.hpp>
#include <flotilla/task/task_id.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// The number of a device, or any_device. A plain number, because for an optional g++ keeps the
/// whole task_options in memory.
using device_number = std::int64_t;
constexpr device_number any_device = -1;

/// A copy of a short list, so that the task_options need not be in memory.
class few_tasks {
 public:
  static constexpr std::size_t most = 4;
  /// @param tasks  At most `most` tasks.
  explicit few_tasks(dependency_list const& tasks) noexcept : size_{tasks.size()} {
    for (std::size_t i = 0; i < size_; ++i) { memory_.ids[i] = tasks[i]; }
  }
  [[nodiscard]] std::span<task_id const> ids() const noexcept { return {memory_.ids, size_}; }

 private:
  /// A union, so that unused ids are not initialized.
  union memory {
    memory() noexcept {}
    task_id ids[most];
  };

  std::size_t size_;
  memory memory_;
};

/// Whether all options except the device and `after` have their default values.
[[nodiscard]] inline bool are_few(task_options const& options) noexcept {
  // A new option does not compile here, so it cannot be forgotten.
  auto const& [device, label, after, after_end, batch, priority, stop, deadline, repeatable, rank] =
      options;
  return label.empty() && after_end.empty() && batch && priority == 0 && !stop.stop_possible() &&
         deadline == std::chrono::steady_clock::time_point::max() && !repeatable &&
         rank == task_options::any_rank;
}

// g++ 12 does not see that the value of an empty optional is not read.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/// Calls `call` with a device_number, if the program names no predecessors; or else with a
/// device_number and a span of the predecessors; or with `options`, if it gives other options.
template <class Call>
[[gnu::always_inline]] inline decltype(auto) in_short_form(task_options const& options,
                                                           Call const& call) {
  if (!are_few(options)) { return call(options); }
  device_number const device = options.device ? device_number{options.device->value} : any_device;
  std::size_t const predecessors = options.after.size();
  if (predecessors == 0) { return call(device); }
  if (__builtin_constant_p(predecessors) && predecessors <= few_tasks::most) {
    return call(device, few_tasks{options.after}.ids());
  }
  return call(device, options.after.ids());
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// The forms of runtime::submit and runtime::post for a launch.
FLOTILLA_EXPORT ticket submit_launch(runtime_impl& runtime, launch const& what,
                                     device_number device);
FLOTILLA_EXPORT ticket submit_launch(runtime_impl& runtime, launch const& what,
                                     device_number device, std::span<task_id const> after);
FLOTILLA_EXPORT ticket submit_launch(runtime_impl& runtime, launch const& what,
                                     task_options const& options);
FLOTILLA_EXPORT void post_launch(runtime_impl& runtime, launch const& what, device_number device);
FLOTILLA_EXPORT void post_launch(runtime_impl& runtime, launch const& what, device_number device,
                                 std::span<task_id const> after);
FLOTILLA_EXPORT void post_launch(runtime_impl& runtime, launch const& what,
                                 task_options const& options);

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
