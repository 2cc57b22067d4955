// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The functions of tbb_bridge.hpp that ThreadSanitizer must instrument.
#include "base/tbb_bridge.hpp"

#include <new>

#include "base/process_end.hpp"
#include "base/thread_objects.hpp"

namespace flotilla::base {

namespace {

thread_local constinit bool is_inside_job = false;

/// If user code on a oneTBB worker has called std::exit, ends the process at once. Otherwise the
/// destructors of oneTBB would run next, on that worker, and could crash (with oneTBB 2021.8, about
/// every third exit crashed).
struct exit_guard {
  ~exit_guard() {
    if (is_inside_job) { finish_process_end(); }
  }
};
exit_guard const guard;

}  // namespace

void announce_posted_job(posted_job& job) noexcept {
  job.handed.fetch_add(1, std::memory_order_release);  // pairs with the acquire in run_posted_job
}

void run_posted_job(posted_job& job) noexcept {
  static_cast<void>(job.handed.load(std::memory_order_acquire));
  try {
    thread_objects::prepare();
  } catch (std::bad_alloc const&) {
    // The first object of this thread tries again, and reports the error.
  }
  is_inside_job = true;
  never_yield_to_process_end(true);
  job.body(job.context);
  never_yield_to_process_end(false);
  is_inside_job = false;
}

}  // namespace flotilla::base
