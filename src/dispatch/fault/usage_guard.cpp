// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/usage_guard.hpp"

#include <exception>

#include <flotilla/error/error.hpp>

#include "base/process_end.hpp"

namespace flotilla::dispatch {

void usage_guard::note_first_use() const {
  auto was = states::unused;
  if (!state_.compare_exchange_strong(was, states::used, std::memory_order_acq_rel)) { return; }
  // A static runtime is destroyed by an exit handler that is registered after its constructor has
  // returned. Handlers run in reverse order, so this handler runs before the destructor.
  base::watch_process_end();
}

void usage_guard::check_slowly() const {
  if (is_forked() || faults_.is_poisoned()) { refuse(); }
  note_first_use();
  if (state_.load(std::memory_order_acquire) == states::closed) { refuse(); }
}

void usage_guard::refuse() const {
  if (is_forked()) {
    throw used_after_fork(
        "a flotilla runtime was used in a child of fork(), where CUDA does not work: create the "
        "runtime after fork(), or call exec()");
  }
  if (faults_.is_poisoned()) {
    base::yield_to_process_end();
    std::rethrow_exception(faults_.failure_of_all()->error);
  }
  // At the end of the process, the destructor of a static runtime has closed it. The threads that
  // use it cannot know that.
  base::yield_to_process_end();
  throw runtime_closed("the runtime is closed and accepts no new tasks; nothing was queued");
}

}  // namespace flotilla::dispatch
