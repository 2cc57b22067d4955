// The instrumented half of tbb_bridge: see its header.
#include "base/process_end.hpp"
#include "base/tbb_bridge.hpp"

namespace flotilla::base {

namespace {

thread_local constinit bool is_inside_job = false;

/// If user code on a oneTBB worker calls std::exit, oneTBB's own destructors run on that worker and
/// can crash (seen with 2021.8: one exit in three). This library's static objects are destroyed just
/// before those of oneTBB, on which it depends, so the process can end here instead.
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
  is_inside_job = true;
  job.body(job.context);
  is_inside_job = false;
}

}  // namespace flotilla::base
