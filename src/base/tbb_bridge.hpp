// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions through which flotilla gives work to oneTBB. oneTBB is not instrumented for
// ThreadSanitizer, which therefore would report false races between the threads of oneTBB. So
// tbb_bridge.cpp is compiled without ThreadSanitizer, and flotilla synchronizes jobs itself: the
// posting thread increments `posted_job::handed` with release order, and the thread that runs the
// job loads this counter with acquire order. Both operations are in tbb_entry.cpp, which is
// compiled with ThreadSanitizer.

#include <atomic>
#include <cstdint>
#include <memory>

namespace flotilla::base {

/// A job for oneTBB. It must exist until every posted run has ended or the arena is destroyed.
/// `body` must not throw, because an exception that leaves a task of oneTBB aborts the process.
struct posted_job {
  void (*body)(void* context);
  void* context;
  std::atomic<std::uint64_t> handed{0};
};

/// A oneTBB arena with at most `workers` threads, none of which is the caller's thread. If oneTBB
/// provides fewer threads when the arena is created, this smaller number is the maximum, but the
/// maximum is at least 1. oneTBB assigns threads to the arena when threads are free: all arenas of
/// a process share cores - 1 threads.
class worker_arena {
 public:
  explicit worker_arena(int workers);
  ~worker_arena();  // does not wait for posted jobs
  worker_arena(worker_arena const&) = delete;
  worker_arena& operator=(worker_arena const&) = delete;

  /// Requests one run of `job`, which may never begin: oneTBB may have no thread, and the system
  /// may refuse one. Threads: any. The call never blocks. It allocates a task of oneTBB.
  /// @throws std::bad_alloc
  void post(posted_job& job);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// Initializes oneTBB in this process and for this thread. Otherwise the first use of oneTBB would
/// do so. If memory runs out during that first use, the next use never returns (seen with oneTBB
/// 2021.8).
/// @throws std::bad_alloc
void initialize_tbb();

/// Runs `body(context)` on this thread. If `body` waits inside oneTBB, for example in parallel_for,
/// oneTBB runs only tasks that `body` created. Otherwise oneTBB could run another job of flotilla
/// on this thread while a device's context is current. `body` must not throw.
void isolated(void (*body)(void*), void* context);

}  // namespace flotilla::base
