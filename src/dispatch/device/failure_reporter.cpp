// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/failure_reporter.hpp"

#include <utility>

#include <flotilla/error/error.hpp>
#include <flotilla/task/callable.hpp>

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
    // The driver refuses a launch if the device cannot run the kernel with this grid, block or
    // shared memory.
    auto const product = [](auto const& sizes) {
      return std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]) + " x " +
             std::to_string(sizes[2]);
    };
    subject += ", grid " + product(one.grid) + ", block " + product(one.block) + ", " +
               std::to_string(one.shared_bytes) + " bytes of dynamic shared memory" +
               limits_of(shared_.kernels.kernels[one.kernel].functions[device_]);
  }
  abandon(task, make_failure(std::make_exception_ptr(driver_error(status, why.call, subject))));
}

std::string failure_reporter::limits_of(CUfunction kernel) const {
  driver::table const& api = context_.api();
  int threads = 0;
  int shared_bytes = 0;
  if (api.func_get_attribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel) !=
          CUDA_SUCCESS ||
      api.func_get_attribute(&shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             kernel) != CUDA_SUCCESS) {
    return {};
  }
  return " (for this kernel, a block may have at most " + std::to_string(threads) +
         " threads and " + std::to_string(shared_bytes) + " bytes of dynamic shared memory)";
}

void failure_reporter::fail_dependent(slot_address task, std::shared_ptr<failure const> cause) {
  std::string const text =
      describe(task) +
      " did not run because a task in `after` failed; first cause: " + cause->first_cause().text;
  abandon(task,
          make_failure(std::make_exception_ptr(dependency_failed(text, cause->error)), cause));
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
