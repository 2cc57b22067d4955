#pragma once
// The only place that hands work to oneTBB. tbb_bridge.cpp is compiled without ThreadSanitizer:
// oneTBB is not instrumented, so TSan cannot see its synchronisation and would report false races.
// Therefore we hand over a function pointer to an instrumented body and synchronise ourselves:
// `handed` is released before the hand-over and acquired inside the body.

#include <atomic>
#include <cstdint>
#include <memory>

namespace flotilla::base {

/// A job for oneTBB. It must stay alive until every accepted `post` has run or the arena has ended.
/// `body` must not throw: an exception that leaves an enqueued body aborts the process.
struct posted_job {
  void (*body)(void* context);
  void* context;
  std::atomic<std::uint64_t> handed{0};
};

/// An oneTBB arena with at most `workers` threads and no slot reserved for the caller's thread.
/// oneTBB assigns threads to it when it has some: all arenas of a process share (number of cores -
/// 1) threads.
class worker_arena {
 public:
  explicit worker_arena(int workers);
  ~worker_arena();  // does not wait for posted jobs
  worker_arena(worker_arena const&) = delete;
  worker_arena& operator=(worker_arena const&) = delete;

  /// Requests one run of `job`. Threads: any. Never blocks. Allocates (the task of oneTBB).
  void post(posted_job& job);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// Runs `body(context)` on this thread so that waits of oneTBB inside take no task from outside.
/// Otherwise user code that calls parallel_for in a callable could run another of our tasks on this
/// thread while this context is current. `body` must not throw.
void isolated(void (*body)(void*), void* context);

}  // namespace flotilla::base
