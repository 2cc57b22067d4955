// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Flows: they order tasks by the data that the tasks use, and move the data.

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <flotilla/data/data.hpp>
#include <flotilla/data/flow_counters.hpp>
#include <flotilla/data/flow_options.hpp>
#include <flotilla/data/loop_options.hpp>
#include <flotilla/data/tile_array.hpp>
#include <flotilla/data/uses.hpp>
#include <flotilla/data/view.hpp>
#include <flotilla/detail/bound_function.hpp>
#include <flotilla/detail/export.hpp>
#include <flotilla/kernel/data_launch.hpp>
#include <flotilla/task/callable.hpp>
#include <flotilla/task/host_task.hpp>
#include <flotilla/task/task_options.hpp>
#include <flotilla/task/ticket.hpp>

namespace flotilla::flows {
class flow_state;
}

namespace flotilla {
inline namespace v0_1 {

class runtime;
class cluster;

namespace detail {

/// Submits a callable or a host function with any number of uses, for bindings of other languages.
/// The flow writes to `places` where the data are, before the function is called.
/// @param places  As many as uses. They must exist until the function was destroyed.
/// @param made    Null: the task is posted.
/// @throws the exceptions of flow::submit. Then the function was not moved.
FLOTILLA_EXPORT void submit_with_uses(flow& to, std::span<datum_use const> uses,
                                      std::span<placed_data> places, callable& what,
                                      task_options const& options, ticket* made);
FLOTILLA_EXPORT void submit_with_uses(flow& to, std::span<datum_use const> uses,
                                      std::span<placed_data> places,
                                      std::unique_ptr<continuation>& what,
                                      task_options const& options, ticket* made);
/// flow::repeat_while.
FLOTILLA_EXPORT std::size_t repeat_while(flow& to, datum_use const& value,
                                         std::function<bool(placed_data const&)> const& goes_on,
                                         std::function<void()> const& iteration,
                                         loop_options const& options);

}  // namespace detail

/// Submits tasks in an order that it infers from the data they use. The flow orders the calls of
/// `submit` and `post`, from all threads, one after the other. A task runs as if all earlier tasks
/// had run one after the other in this order:
/// - a task that reads data runs after the last earlier task that wrote or updated them, and after
///   all tasks that reduced them since;
/// - a task that writes or updates data runs after all earlier tasks that use the memory that it
///   overwrites. It need not wait for tasks that read another copy of the data;
/// - tasks that reduce the same data at different places have no order;
/// - tasks that commute on the same data run one after the other, in any order.
/// Tasks without such a relation may run at the same time. `task_options::after` and `after_end`
/// add predecessors.
///
/// The flow copies data to the memory where a task needs them, and allocates the memory. It keeps
/// memory of data that are gone for later data, until the last data and the flow are gone. If the
/// memory of a device does not suffice, it evicts data that the next task does not use, and copies
/// them to the host before if necessary. A copy is a task of the runtime with the label of the
/// data.
///
/// Devices   The first of these rules that applies:
///           1. the device that task_options::device names;
///           2. the device of the first buffer or span argument (a launch);
///           3. the device that runtime_options::placement chooses, if it chooses one;
///           4. a launch: the device where it is estimated to end first. It begins when its inputs
///              are computed and copied, at the measured rates of the links, and when the open
///              tasks of this flow on the device that are at least as urgent have ended. Kernels
///              that were not measured yet count little. Among devices whose ends differ by less
///              than a fifth, the one to which the fewest bytes must be copied;
///           5. a callable, whose time is unknown: the device to which the fewest bytes must be
///              copied, and among several, the one where it is estimated to begin first;
///           6. the one whose open tasks of this flow need the least time, and then the one that
///              got the fewest tasks of this flow.
///           A host task runs on the host, and its options must name no device.
/// Failures  Data that a failed task should have written or changed are lost: tasks that read or
///           update them fail with dependency_failed, whose cause is the first error. They are
///           valid again after a later task that writes them (`write`). A failed task that only
///           reads data affects no other task. Tasks that commute with a failed task may run.
/// Threads   any, even inside callables, host tasks and continuations.
/// Lifetime  Must end before its runtime does. Data keep the state of their flow.
class FLOTILLA_EXPORT flow {
 public:
  /// @throws invalid_argument  An option is invalid.
  /// @throws runtime_closed, poisoned, used_after_fork
  /// Cost  The first flow for several devices measures the rates of all links between them and the
  ///       host, in a few milliseconds for each device. Inside a callable, host task or
  ///       continuation it assumes typical rates.
  explicit flow(runtime& owner, flow_options const& options = {});
  /// Makes a flow over all ranks of a cluster (<flotilla/cluster/cluster.hpp>). Collective: all
  /// ranks make their flows in the same order, and submit the same tasks in the same order. On the
  /// ranks that do not run a task, `submit` returns an empty ticket (ticket::valid). So
  /// task_options::after can only name tasks of the rank that runs the task; tasks on different
  /// ranks get their order from data or tokens. A token belongs to rank 0.
  explicit flow(cluster& all, flow_options const& options = {});
  flow(flow&&) noexcept = default;
  flow& operator=(flow&&) noexcept = default;
  ~flow();

  /// Submits a launch that uses data: `flow.submit(saxpy.over(n)(2.0f, read(x), update(y), n))`.
  /// @throws invalid_argument  Data belong to another flow, were moved from, occur twice in the
  ///                           task without being only read, or are read although they have no
  ///                           contents; and the cases of runtime::submit.
  /// @throws driver_error      The memory of the device or flow_options::memory_limit does not
  ///                           suffice for the data of this task (out_of_memory), even without all
  ///                           other data. The message names data, device and bytes.
  /// @throws the other exceptions of runtime::submit
  ///         If the call throws, it has not submitted the task and data keep their contents, but
  ///         copies to the device may have been submitted.
  /// Blocks  while a window is full, and while memory is allocated on the device or pinned on the
  ///         host. If the driver has no memory left, also until the tasks have ended that use
  ///         memory that was given up. Never for data or predecessors. Inside a callable (for a
  ///         host task, also inside a host task) a full window throws window_full instead. Inside
  ///         a callable or host task, a driver without memory throws driver_error.
  /// Cost    a lock and no driver call, except to allocate memory.
  ticket submit(data_launch const& what, task_options const& options = detail::default_options) {
    ticket made;
    submit_launch(what, options, &made);
    return made;
  }

  /// Submits a callable that uses data. `function(task_context&, views…)` gets a view of each of
  /// the data in `with`, in this order; tokens have no view. The function must use the memory only
  /// in work that it enqueues on its stream. See runtime::submit.
  template <class... Uses, class F>
  requires(!detail::is_host_task<std::remove_cvref_t<F>>) ticket
      submit(data_list<Uses...> const& with, F&& function,
             task_options const& options = detail::default_options) {
    ticket made;
    submit_callable(with, std::forward<F>(function), options, &made);
    return made;
  }

  /// Submits a host task that uses data. Its function gets a view of each of the data in `with`, in
  /// host memory: `flow.submit(uses(read(x)), host_task([](view<float const> x) { … }))`.
  template <class... Uses, class F>
  ticket submit(data_list<Uses...> const& with, host_task<F> what,
                host_options const& options = {}) {
    ticket made;
    submit_host_task(with, what, options, &made);
    return made;
  }

  template <detail::not_flow_work W>
  ticket submit(W&&, task_options const& = {}) = delete;  // needs data: uses(…), or use a runtime

  /// The same as `submit`, but without a ticket. runtime_options::on_error gets errors of the task.
  void post(data_launch const& what, task_options const& options = detail::default_options) {
    submit_launch(what, options, nullptr);
  }
  template <class... Uses, class F>
  requires(!detail::is_host_task<std::remove_cvref_t<F>>) void post(
      data_list<Uses...> const& with, F&& function,
      task_options const& options = detail::default_options) {
    submit_callable(with, std::forward<F>(function), options, nullptr);
  }
  template <class... Uses, class F>
  void post(data_list<Uses...> const& with, host_task<F> what, host_options const& options = {}) {
    submit_host_task(with, what, options, nullptr);
  }
  template <detail::not_flow_work W>
  void post(W&&, task_options const& = {}) = delete;  // needs data: uses(…), or use a runtime

  /// Submits the tasks of an iteration `count` times, as this loop does:
  ///
  ///     for (std::size_t i = 0; i < count; ++i) { iteration(); }
  ///
  /// but computes the order, the devices and the copies only a few times. The flow calls
  /// `iteration` and notes the launches and copies. If two calls in a row cause the same ones, it
  /// submits a recording of them (<flotilla/task/recording.hpp>) instead of the other calls. So
  /// `iteration` must submit the same tasks each time, with memory that stays the same, and must do
  /// nothing else. If two calls in a row differ, because the iteration swaps data or counts, the
  /// flow goes on calling it; it does not notice a change that comes after two equal calls.
  ///
  /// It also calls `iteration` each time if something cannot be recorded: callables, host tasks,
  /// tasks that read what the iteration reduces at several places, copies of pageable memory,
  /// launches with attributes or a task_status, tasks with a stop token, with task_options::batch =
  /// false, of different priorities or with predecessors outside the iteration, `host()`, data that
  /// begin or end, tiles, evictions, and, if a device of the runtime is isolated, tasks with
  /// task_options::repeatable, because a replay does not run again after a loss; or if the runtime
  /// makes checks, the flow keeps its graph, another thread uses the flow again and again, or the
  /// caller is inside a callable, host task or continuation.
  ///
  /// Tasks that name no device keep the device that was chosen in the second call. Recorded
  /// iterations run one after the other and do not overlap. A replay is posted: its error goes to
  /// runtime_options::on_error, the replays after it fail too, and the data that the iteration
  /// writes are lost. The flow notices the failure up to some hundred iterations later. Then it
  /// calls `iteration` again, so that tasks with `write` can make the data valid.
  ///
  ///     flow.repeat(500, [&] {
  ///       flow.post(step.over(n)(read(a), write(b), n));
  ///       flow.post(step.over(n)(read(b), write(a), n));
  ///     });
  ///
  /// @throws the exceptions of `iteration`, of `submit` and of recording::replay. The iterations
  ///         that were submitted before remain.
  /// Threads  any. Tasks that other threads submit to the flow run between two iterations or while
  ///          `iteration` is called.
  /// Blocks   as `submit` and recording::finish do, and so that at most some hundred replays are in
  ///          flight.
  /// Cost     some calls of `iteration`, making a recording, and then a replay for each iteration.
  template <std::invocable F>
  void repeat(std::size_t count, F&& iteration) {
    repeat_function(count, std::ref(iteration));
  }
  /// Repeats an iteration, at most options.most times, while a condition on data holds:
  ///
  ///     do {
  ///       for (std::size_t i = 0; i < options.check_every; ++i) { iteration(); }
  ///     } while (condition(value.host()));
  ///
  /// The rules of `repeat` apply. The recording stays from check to check, unless the check has to
  /// combine partial results (`reduce`) or tiles.
  ///
  ///     flow.repeat_while(residual, [](auto r) { return r(0) > 1e-10; }, one_step);
  ///
  /// @param condition  Called as condition(view<T const, Rank>), on the calling thread.
  /// @return the number of iterations.
  /// @throws invalid_argument  An option is 0, or the flow runs over several ranks.
  /// @throws the exceptions of `repeat`, of `condition` and of data::host
  /// Threads  as `repeat`. Blocks  as `repeat` and data::host do.
  /// Cost     that of `repeat`, and for each check a wait and a copy to the host.
  template <class T, int Rank, std::predicate<view<T const, Rank>> Condition, std::invocable F>
  std::size_t repeat_while(data<T, Rank>& value, Condition&& condition, F&& iteration,
                           loop_options const& options = {}) {
    auto const use = read(value);
    auto const goes_on = [&](detail::placed_data const& at) -> bool {
      return condition(detail::use_access::view_of(use, at));
    };
    return detail::repeat_while(*this, detail::use_access::what(use), goes_on, std::ref(iteration),
                                options);
  }

  /// Returns what the flow has done on a device. @throws unknown_device
  [[nodiscard]] flow_counters counters(device_ordinal device) const;
  /// Returns the tasks so far, copies included, and their predecessors, in the language of
  /// Graphviz. An edge is dashed if the failure of the predecessor does not matter.
  /// @throws invalid_argument  The flow was made without flow_options::keeps_graph.
  [[nodiscard]] std::string dot() const;

 private:
  friend struct detail::flow_access;
  friend void detail::submit_with_uses(flow&, std::span<detail::datum_use const>,
                                       std::span<detail::placed_data>, callable&,
                                       task_options const&, ticket*);
  friend void detail::submit_with_uses(flow&, std::span<detail::datum_use const>,
                                       std::span<detail::placed_data>,
                                       std::unique_ptr<detail::continuation>&, task_options const&,
                                       ticket*);
  using use_list = std::span<detail::datum_use const>;

  template <class... Uses, class F>
  void submit_callable(data_list<Uses...> const& with, F&& function, task_options const& options,
                       ticket* made) {
    auto bound = detail::bind<task_context&>(std::forward<F>(function), with);
    auto const uses = bound->uses();
    std::span<detail::placed_data> const places = bound->places();
    callable call{[held = std::move(bound)](task_context& context) { held->call(context); }};
    submit_bound(uses, places, call, options, made);
  }
  template <class... Uses, class F>
  void submit_host_task(data_list<Uses...> const& with, host_task<F>& what,
                        host_options const& options, ticket* made) {
    auto bound = detail::bind(detail::host_access::take(what), with);
    auto const uses = bound->uses();
    std::span<detail::placed_data> const places = bound->places();
    auto call = detail::host_access::function_of([held = std::move(bound)] { held->call(); });
    submit_bound(uses, places, call, detail::host_access::task_options_of(options), made);
  }

  void repeat_function(std::size_t count, std::function<void()> const& iteration);
  // If `made` is null, the task is posted.
  void submit_launch(data_launch const& what, task_options const& options, ticket* made);
  void submit_bound(use_list uses, std::span<detail::placed_data> places, callable& what,
                    task_options const& options, ticket* made);
  void submit_bound(use_list uses, std::span<detail::placed_data> places,
                    std::unique_ptr<detail::continuation>& what, task_options const& options,
                    ticket* made);

  std::shared_ptr<flows::flow_state> state_;
};

}  // namespace v0_1
}  // namespace flotilla
