// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/callable_runner.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <utility>

#include <flotilla/error/error.hpp>
#include <flotilla/task/callable.hpp>

#include "base/fork_guard.hpp"
#include "base/log.hpp"
#include "base/single_writer.hpp"
#include "base/tbb_bridge.hpp"
#include "context/context_stack_guard.hpp"
#include "dispatch/task/callable_frame.hpp"
#include "dispatch/task/cancellation.hpp"
#include "dispatch/trace/nvtx_range.hpp"

namespace flotilla::dispatch {

namespace {
using clock = std::chrono::steady_clock;
constexpr std::size_t max_in_a_pass = 64;  // callables per priority level
constexpr unsigned max_early_reports = 8;  // of one device
}  // namespace

bool callable_runner::run(helper_filter filter,
                          std::function<bool(priority_level)> const& more_urgent) {
  if (queued_.empty()) { return false; }
  parts_.device_waits.disable();
  if (!parts_.device_waits.callables_may_run()) { return false; }
  bool moved = false;
  for (unsigned number = priority_levels; number-- > 0;) {
    auto const level = static_cast<priority_level>(number);
    priority_queues::queue& queue = queued_.at(level);
    for (std::size_t left = std::min(queue.size(), max_in_a_pass); left > 0; --left) {
      slot_address const task = queue.take_front();
      slot& one = parts_.shared.tasks.at(task);
      parts_.shared.overdue.end_due();  // the callables before may have taken long
      if (is_cancelled(one)) [[unlikely]] {
        parts_.reporter.cancel(task);
        moved = true;
        continue;
      }
      bool const allowed = filter.helper == 0 || one.submitter == filter.helper ||
                           one.demanded.load(std::memory_order_relaxed) != 0;
      if (!allowed) {
        queue.push_back(task);
        continue;
      }
      resolution const before = parts_.before.resolve(task, found_);
      if (before.kind == resolution::kinds::failed) {
        parts_.reporter.fail_dependent(task, before.cause);
      }
      if (before.kind != resolution::kinds::ready) { continue; }
      if (!run_one(task)) { break; }
      moved = true;
      if (parts_.gate.wanted() || more_urgent(level)) { return moved; }
    }
  }
  return moved;
}

lane* callable_runner::find_lane(priority_level level) {
  lane_range const range = lane_layout::callable_lanes_of(level);
  // A task right behind its predecessor in the stream need not wait for it, and delays no task that
  // could run earlier.
  for (end_mark const mark : found_.launched) {
    if (mark.device() != parts_.lanes.device() || !range.contains(mark.lane())) { continue; }
    lane& same = parts_.lanes[mark.lane()];
    if (same.last_number() == mark.number() && same.has_room()) { return &same; }
  }
  lane* best = nullptr;
  for (unsigned i = 0; i < range.count; ++i) {
    lane& other = parts_.lanes[range.first + i];
    bool const is_better = best == nullptr || other.in_flight() < best->in_flight();
    if (is_better && other.has_room()) { best = &other; }
  }
  return best;
}

bool callable_runner::run_one(slot_address task) {
  priority_level const level = parts_.shared.tasks.at(task).level;
  lane* const lane = find_lane(level);
  if (lane == nullptr) {
    queued_.at(level).push_front(task);
    return false;
  }
  if (!parts_.shared.turns.begin_callable(parts_.lanes.device())) [[unlikely]] {
    queued_.at(level).push_front(task);
    return false;
  }
  run_in(*lane, task);
  parts_.shared.turns.end_callable(parts_.lanes.device());
  return true;
}

void callable_runner::run_in(lane& in, slot_address task) {
  if (cancelled_before_launch(parts_.shared.tasks.at(task))) [[unlikely]] {
    parts_.reporter.cancel(task);
    return;
  }
  if (auto const answer = parts_.lanes.enqueue_waits(in, found_.launched); !answer.ok()) {
    parts_.reporter.refuse(task, answer);
    return;
  }
  // Begin the batch before the callable runs, and commit the batch afterwards. Meanwhile no other
  // batch begins in this lane, because the callable can drain other devices only.
  lane::batch& batch = in.begin();
  std::string violation;
  std::exception_ptr thrown = call(task, in, violation);
  base::add(ran_);
  if (thrown == nullptr && violation.empty()) {
    parts_.committer.launched(task, in, batch);
    return;
  }
  // The callable may have enqueued work before it threw, and that work may use memory that is freed
  // when the task ends. So the task ends only after this work. Until then, the task does not count
  // as launched.
  std::string const text = parts_.reporter.describe(task);
  failures_.emplace(task, thrown != nullptr
                              ? make_failure_of(text, std::move(thrown))
                              : make_failure(std::make_exception_ptr(error(
                                    text + ": " + violation + "; flotilla has undone this"))));
  batch.tasks[batch.count++] = task;
  parts_.committer.finish(in);
}

std::exception_ptr callable_runner::call(slot_address task, lane const& lane,
                                         std::string& violation) {
  slot& one = parts_.shared.tasks.at(task);
  callable_frame const frame{parts_.shared.id, parts_.lanes.device(), task};
  context::context_stack_guard guard{parts_.context};
  struct invocation {
    callable& function;
    task_context context;
    std::exception_ptr thrown;
  };
  // The handles of an isolated device mean nothing to the driver of this process.
  bool const is_isolated = parts_.shared.lost.is_isolated(parts_.lanes.device());
  invocation invoked{
      held_in<callable>(one),
      task_context{parts_.context.where(), is_isolated ? nullptr : parts_.context.handle(),
                   is_isolated ? nullptr : lane.stream()},
      nullptr};
  bool const is_early = parts_.shared.checks_order && is_predecessor_running();
  std::uint32_t const process = base::fork_generation();
  nvtx_range const range{[&] { return parts_.reporter.describe(task); }};
  clock::time_point const begun = clock::now();
  running_since_.store(begun.time_since_epoch().count(), std::memory_order_seq_cst);
  parts_.shared.bell.note_callable();
  parts_.shared.on_host.begin_callable(parts_.lanes.device(), task);
  if (parts_.shared.faults.is_poisoned()) {
    invoked.thrown = parts_.shared.faults.failure_of_all()->error;  // perhaps nobody waits any more
  }
  // Isolate the callable: if user code waits inside oneTBB, oneTBB must not run a worker of
  // flotilla on this thread.
  base::isolated(
      [](void* argument) {
        auto& call = *static_cast<invocation*>(argument);
        if (call.thrown != nullptr) { return; }
        try {
          call.function(call.context);
        } catch (...) { call.thrown = std::current_exception(); }
      },
      &invoked);
  base::end_returning_child(process, "a callable");
  if (is_early && !was_stream_asked(invoked.context)) { report_early(task); }
  one.holds_callable = false;
  std::destroy_at(&held_in<callable>(one));  // runs user destructors, so call `restore` afterwards
  parts_.shared.on_host.end_callable(parts_.lanes.device());
  running_since_.store(0, std::memory_order_release);
  parts_.shared.slow_calls.note_callable(clock::now() - begun,
                                         [&] { return parts_.reporter.describe(task); });
  violation = guard.restore();
  CUstreamCaptureStatus capture{};
  CUresult const answer = parts_.context.api().stream_is_capturing(lane.stream(), &capture);
  if (answer == CUDA_SUCCESS && capture != CU_STREAM_CAPTURE_STATUS_NONE) {
    CUgraph captured = nullptr;
    parts_.context.api().stream_end_capture(lane.stream(), &captured);
    if (captured != nullptr) { parts_.context.api().graph_destroy(captured); }
    violation +=
        (violation.empty() ? "" : "; ") + std::string{"it left its stream in capture mode"};
  }
  return std::move(invoked.thrown);
}

bool callable_runner::is_predecessor_running() const noexcept {
  return std::any_of(found_.launched.begin(), found_.launched.end(),
                     [this](end_mark mark) { return !parts_.shared.board.reached(mark); });
}

void callable_runner::report_early(slot_address task) noexcept {
  if (early_reports_ == max_early_reports) { return; }
  ++early_reports_;
  try {
    base::log_format(
        log_level::warning,
        "%s was called while a task in its 'after' still ran, and has not asked for its stream: "
        "only work in its stream runs after these tasks, the callable itself does not. If it reads "
        "what they write, use a host_task instead (FLOTILLA_CHECK=order)%s",
        parts_.reporter.describe(task).c_str(),
        early_reports_ == max_early_reports ? ". Further callables are not reported" : "");
  } catch (std::bad_alloc const&) {  // only a report is lost
  }
}

std::shared_ptr<failure const> callable_runner::take_failure(slot_address task) {
  auto found = failures_.extract(task);
  return found ? std::move(found.mapped()) : nullptr;
}

}  // namespace flotilla::dispatch
