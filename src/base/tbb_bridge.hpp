#pragma once
// The only place that hands work to oneTBB. tbb_bridge.cpp is compiled without ThreadSanitizer, because
// a stock oneTBB, not being instrumented, makes TSan report correct programs: it cannot see the order
// that oneTBB's own synchronisation gives. What we hand over is therefore a function pointer to an
// instrumented body, and the order is our own: `handed` is released before and acquired inside.

#include <atomic>
#include <cstdint>
#include <memory>

namespace flotilla::base {

/// A job that oneTBB is asked to run. It must stay alive until every accepted `post` has run or the
/// arena is gone; `body` must not throw (an exception that leaves an enqueued body aborts the process).
struct posted_job {
  void (*body)(void* context);
  void* context;
  std::atomic<std::uint64_t> handed{0};
};

/// An oneTBB arena of our own: at most `workers` threads, no place reserved for the caller's thread.
/// oneTBB gives it threads when it has some to give: all arenas of a process share cores - 1.
class worker_arena {
 public:
  explicit worker_arena(int workers);
  ~worker_arena();  // does not wait for posted jobs
  worker_arena(worker_arena const&) = delete;
  worker_arena& operator=(worker_arena const&) = delete;

  /// Asks for one run of `job`. Any thread. Never blocks. Allocates (oneTBB's task).
  void post(posted_job& job);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// Runs `body(context)` here and now, so that a wait of oneTBB inside it takes no task from outside it:
/// otherwise user code that calls parallel_for in a callable could run another task of ours
/// on this thread, with this thread's context current. `body` must not throw.
void isolated(void (*body)(void*), void* context);

}  // namespace flotilla::base
