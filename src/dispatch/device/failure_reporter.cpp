// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/failure_reporter.hpp"

#include <utility>

#include <flotilla/error/error.hpp>
#include <flotilla/task/callable.hpp>

#include "dispatch/device/launch_text.hpp"
#include "dispatch/recording/replayed_part.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

void failure_reporter::refuse(slot_address task, driver::call_outcome why) {
  note(why.status);
  driver_status const status = driver::status_of(why.status);
  if (is_sticky(status)) { return; }
  std::string subject = describe(task);
  slot const& one = shared_.tasks.at(task);
  if (one.kind == task_kind::launch) {
    subject += launch_text(context_, shared_.kernels.kernels[one.kernel].functions[device_], one,
                           shared_.tasks.side(task));
  }
  abandon(task, make_failure(std::make_exception_ptr(driver_error(status, why.call, subject))));
}

void failure_reporter::fail_dependent(slot_address task, std::shared_ptr<failure const> cause) {
  std::string const text =
      describe(task) +
      " did not run because a task in `after` failed; first cause: " + cause->first_cause().text;
  abandon(task,
          make_failure(std::make_exception_ptr(dependency_failed(text, cause->error)), cause));
}

void failure_reporter::cancel(slot_address task) {
  abandon(task, make_failure(std::make_exception_ptr(
                    task_cancelled(describe(task) + " was cancelled before it was launched"))));
}

std::shared_ptr<failure const> failure_reporter::failure_of_status(slot_address task,
                                                                   std::uint64_t status) const {
  if (status == 0) { return nullptr; }
  auto const code = static_cast<int>(static_cast<std::uint32_t>(status));
  return make_failure(std::make_exception_ptr(task_failed(
      code, describe(task) + ": the kernel reported failure code " + std::to_string(code))));
}

void failure_reporter::abandon(slot_address task, std::shared_ptr<failure const> why) {
  slot& one = shared_.tasks.at(task);
  if (one.kind == task_kind::callable && one.holds_callable) {
    one.holds_callable = false;
    std::destroy_at(&held_in<callable>(one));
  }
  if (one.kind == task_kind::recorded) {
    // This replay does not run, so its changes must take effect in the next replay.
    replayed_part& replay = held_in<replayed_part>(one);
    shared_.recordings.get(replay.part)->defer(std::exchange(replay.changes, change_lists::none));
  }
  shared_.ends.end(task, std::move(why));
}

}  // namespace flotilla::dispatch
