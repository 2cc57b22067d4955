// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/failure_reporter.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <flotilla/detail/kernel_twin.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/task/callable.hpp>

#include "dispatch/device/launch_text.hpp"
#include "dispatch/task/callable_frame.hpp"
#include "dispatch/task/cancellation.hpp"
#include "dispatch/task/chunk_command.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

void failure_reporter::refuse(slot_address task, driver::call_outcome why) {
  note(why.status);
  driver_status const status = driver::status_of(why.status);
  if (is_sticky(status)) {
    if (is_device_lost_) { keep(task); }
    return;
  }
  std::string subject = describe(task);
  task_kind const kind = shared_.tasks.at(task).kind;
  if (kind == task_kind::launch || kind == task_kind::chunk) { subject += limits_of(task); }
  abandon(task, make_failure(std::make_exception_ptr(driver_error(status, why.call, subject))));
}

void failure_reporter::take_kept(std::vector<slot_address>& tasks) {
  tasks.insert(tasks.end(), kept_.begin(), kept_.end());
  kept_.clear();
  is_device_lost_ = false;
}

std::string failure_reporter::limits_of(slot_address task) const {
  slot const& one = shared_.tasks.at(task);
  return launch_text(context_, shared_.kernels.kernels[one.kernel].functions[device_], one,
                     shared_.tasks.side(task));
}

std::shared_ptr<failure const> failure_reporter::failure_of_item(slot_address chunk,
                                                                 std::uint32_t item,
                                                                 driver::call_outcome why) {
  slot& one = shared_.tasks.at(chunk);
  chunk_command const& what = held_in<chunk_command>(one);
  detail::twin_record record;
  std::memcpy(&record,
              shared_.chunks[chunk >> 16].host(what.piece) + std::uint64_t{item} * what.stride,
              sizeof record);
  std::copy(record.grid.begin(), record.grid.end(), one.grid);  // now the slot describes this item
  return make_failure(std::make_exception_ptr(
      driver_error(driver::status_of(why.status), why.call,
                   shared_.text.describe_item(chunk, context_.subject()) + limits_of(chunk))));
}

void failure_reporter::fail_dependent(slot_address task, std::shared_ptr<failure const> cause) {
  abandon(task, make_dependency_failure(describe(task), std::move(cause)));
}

void failure_reporter::cancel(slot_address task) {
  slot& one = shared_.tasks.at(task);
  if (!take_end(one)) { return drop(task); }
  generation_word const word{one.generation.load(std::memory_order_relaxed)};
  end_taken(task, make_cancellation(describe(task), word));
}

std::shared_ptr<failure const> failure_reporter::failure_of_status(slot_address task,
                                                                   std::uint64_t status) const {
  if (status == 0) { return nullptr; }
  auto const code = static_cast<int>(static_cast<std::uint32_t>(status));
  return make_failure(std::make_exception_ptr(task_failed(
      code, describe(task) + ": the kernel reported failure code " + std::to_string(code))));
}

void failure_reporter::abandon(slot_address task, std::shared_ptr<failure const> why) {
  if (!take_end(shared_.tasks.at(task))) { return drop(task); }
  end_taken(task, std::move(why));
}

void failure_reporter::end_taken(slot_address task, std::shared_ptr<failure const> why) {
  destroy_content(task);
  ends_.end(task, std::move(why));
}

void failure_reporter::drop(slot_address task) {
  destroy_content(task);
  shared_.ends.drop(task);
}

void failure_reporter::destroy_content(slot_address task) {
  slot& one = shared_.tasks.at(task);
  if (one.kind == task_kind::callable && one.holds_callable) {
    one.holds_callable = false;
    // The destructor is user code. If it waits, the wait must know that this thread has the lease.
    callable_frame const frame{shared_.id, device_, task};
    std::destroy_at(&held_in<callable>(one));
  }
}

}  // namespace flotilla::dispatch
