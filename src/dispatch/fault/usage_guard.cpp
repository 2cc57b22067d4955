// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/usage_guard.hpp"

#include <exception>

#include <flotilla/error/error.hpp>

#include "base/process_end.hpp"

namespace flotilla::dispatch {

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
  throw runtime_closed("the runtime is closed and accepts no new tasks; nothing was queued");
}

}  // namespace flotilla::dispatch
