// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/flow/data_end.hpp"

#include <exception>
#include <mutex>
#include <utility>

#include <flotilla/detail/wait_interruption.hpp>
#include <flotilla/error/error.hpp>

#include "base/log.hpp"
#include "dispatch/runtime/runtime_registry.hpp"
#include "dispatch/task/callable_frame.hpp"
#include "dispatch/task/host_task_frame.hpp"
#include "flows/flow/flow_state.hpp"

namespace flotilla::flows {

void data_end::retire(std::unique_ptr<detail::datum> which) noexcept {
  detail::interruptible_waits const never{nullptr, nullptr};
  // The data keep the flow alive, and the flow must not be destroyed while its mutex is locked.
  std::shared_ptr<flow_state> const flow = which->owner;
  dispatch::runtime_state const* const alive = dispatch::runtime_registry::find(flow->number_);
  // In a child of fork(), the mutex may be locked forever.
  if (alive == nullptr || alive->usage.is_forked()) { return; }
  std::unique_ptr<detail::datum> over;  // destroyed after the mutex is unlocked
  {
    std::lock_guard const lock{flow->mutex_};
    flow->planner_.log().note_change("data end in it");
    over = flow->planner_.tiles().end(std::move(which));
  }
  if (over == nullptr) { return; }
  data_end end{*flow};
  end.write_back_or_warn(*over);
  end.release(*over);
}

void data_end::write_back_or_warn(detail::datum& which) noexcept {
  try {
    start_write_back(which);
  } catch (poisoned const&) {  // the tickets and the error handler say so
  } catch (std::exception const& why) {
    base::log_format(log_level::warning,
                     "data '%s' ended, but their contents were not written back to the memory of "
                     "the program from which they were made: %s",
                     which.label.c_str(), why.what());
  }
}

void data_end::release(detail::datum& which) noexcept {
  std::unique_lock lock{flow_.mutex_};
  bool const is_foreign = flow_.ranks_ != nullptr && flow_.ranks_->is_foreign(which);
  bool const is_outdated = !is_foreign && flow_.checks_.is_outdated(which);
  try {
    while (auto const open = flow_.host_.open_task_at_end(which, which.is_written_back)) {
      lock.unlock();
      flow_.host_.wait_for(*open);
      lock.lock();
    }
  } catch (std::exception const& why) {
    base::log_format(log_level::warning,
                     "data '%s' ended while tasks use the memory of the program from which "
                     "the data were made, and the destructor could not wait for them: %s",
                     which.label.c_str(), why.what());
    lock.lock();
  }
  flow_.planner_.tiles().release(which);
  lock.unlock();
  if (is_outdated) { use_check::report_outdated(which); }
}

void data_end::set_write_back(detail::datum& which, bool on) {
  flow_.runtime_.usage.check_process();
  std::lock_guard const lock{flow_.mutex_};
  if (which.is_token()) { return; }
  block const& on_host = which.at(place::host()).memory;
  bool const is_of_program = on_host.exists() && !on_host.is_of_flow() && which.whole == nullptr;
  which.is_written_back = on && is_of_program && flow_.ranks_ == nullptr;
}

bool data_end::is_write_back_due(detail::datum& which) {
  std::lock_guard const lock{flow_.mutex_};
  return which.is_written_back && which.has_value() && !which.is_divided() &&
         !which.is_valid_at(place::host());
}

bool data_end::is_inside_task() const noexcept {
  std::uint64_t const runtime = flow_.number_;
  return dispatch::callable_frame::innermost(runtime) != nullptr ||
         dispatch::host_task_frame::any_of(runtime);
}

void data_end::start_write_back(detail::datum& which) {
  if (!is_write_back_due(which)) { return; }
  // The copy could depend on the task that runs here, and then the memory could not be kept until
  // the copy has ended.
  if (is_inside_task()) { throw would_deadlock("the data ended inside a callable or host task"); }
  flow_.prefetch(which, place::host());
}

std::optional<task_id> data_end::open_task(detail::datum& which) {
  std::lock_guard const lock{flow_.mutex_};
  // As tiler::end, which says what ends together with the data.
  detail::datum* each = &which;
  while (each->whole != nullptr) {
    if (auto const open = flow_.host_.open_task_at_end(*each, false)) { return open; }
    partition const& tiles = *each->whole->tiles;
    if (tiles.open != 1 || tiles.orphan == nullptr) { return {}; }
    each = each->whole;
  }
  if (each == &which && which.is_divided()) { return {}; }
  return flow_.host_.open_task_at_end(*each, each->is_written_back);
}

void data_end::wait_until_unused(detail::datum& which) {
  try {
    start_write_back(which);
  } catch (runtime_closed const&) {  // the end of the data says so
  } catch (poisoned const&) {}
  while (auto const open = open_task(which)) { flow_.host_.wait_for(*open); }
}

bool data_end::is_used(detail::datum& which) {
  if (is_inside_task() && is_write_back_due(which)) { return true; }
  start_write_back(which);
  return open_task(which).has_value();
}

}  // namespace flotilla::flows
