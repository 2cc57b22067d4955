// The instrumented half of tbb_bridge: see its header.
#include "base/tbb_bridge.hpp"

namespace flotilla::base {

void announce_posted_job(posted_job& job) noexcept {
  job.handed.fetch_add(1, std::memory_order_release);  // pairs with the acquire in run_posted_job
}

void run_posted_job(posted_job& job) noexcept {
  static_cast<void>(job.handed.load(std::memory_order_acquire));
  job.body(job.context);
}

}  // namespace flotilla::base
