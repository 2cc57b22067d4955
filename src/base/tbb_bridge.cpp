// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/tbb_bridge.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <new>
#include <stdexcept>

namespace flotilla::base {

// These functions are in tbb_entry.cpp, because this file is compiled without ThreadSanitizer (see
// tbb_bridge.hpp). ThreadSanitizer would not see the release and the acquire here.
void run_posted_job(posted_job& job) noexcept;       // tbb_entry.cpp
void announce_posted_job(posted_job& job) noexcept;  // tbb_entry.cpp

namespace {

/// Returns an arena for `workers` threads, but for no more threads than oneTBB provides now. For a
/// larger arena, oneTBB prints a warning on stderr.
tbb::task_arena arena_for(int workers) {
  auto const parallelism = static_cast<int>(
      tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
  int const provided = std::min(workers, parallelism - 1);  // one thread is the application's
  if (provided > 0) { return tbb::task_arena(provided, 0); }
  // oneTBB provides no worker. An arena whose only place is for the application requests no worker
  // either. oneTBB nevertheless creates one thread when a task is enqueued.
  return tbb::task_arena(1, 1);
}

}  // namespace

struct worker_arena::impl {
  explicit impl(int workers) : arena(arena_for(workers)) { arena.initialize(); }
  tbb::task_arena arena;
};

worker_arena::worker_arena(int workers) : impl_(std::make_unique<impl>(workers)) {}
worker_arena::~worker_arena() = default;

void worker_arena::post(posted_job& job) {
  announce_posted_job(job);
  try {
    impl_->arena.enqueue([&job] { run_posted_job(job); });
  } catch (std::bad_alloc const&) { throw; } catch (std::runtime_error const&) {
    // The system has no thread for oneTBB, which has queued the job. A thread may come later.
  }
}

void initialize_tbb() {
  isolated([](void*) {}, nullptr);
}

void isolated(void (*body)(void*), void* context) {
  tbb::this_task_arena::isolate([body, context] { body(context); });
}

}  // namespace flotilla::base
