// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/tbb_bridge.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <atomic>
#include <thread>

#include "support/child.hpp"
#include "support/tbb_calls.hpp"

namespace flotilla::base {
namespace {

/// Allows at least four oneTBB threads, even on a machine with fewer processors.
class TbbBridge : public ::testing::Test {
 private:
  tbb::global_control control_{tbb::global_control::max_allowed_parallelism, 4};
};

struct counting_job {
  int plain = 0;  // not atomic: `post` must order all accesses
  std::atomic<int> runs{0};
  posted_job job{&counting_job::run, this};

  static void run(void* context) {
    auto& self = *static_cast<counting_job*>(context);
    EXPECT_EQ(self.plain, 7);
    ++self.runs;
    self.runs.notify_all();
  }
  void wait_for(int count) const {
    for (int seen = runs; seen < count; seen = runs) { runs.wait(seen); }
  }
};

// requirement
TEST_F(TbbBridge, RunsAJobOncePerPost) {
  counting_job job;
  worker_arena arena{2};
  job.plain = 7;
  for (int i = 1; i <= 50; ++i) {
    arena.post(job.job);
    job.wait_for(i);
  }
  EXPECT_EQ(job.runs, 50);
}

// requirement
TEST_F(TbbBridge, PostsFromManyThreads) {
  counting_job job;
  worker_arena arena{2};
  job.plain = 7;
  constexpr int threads = 3;
  constexpr int posts = 40;
  std::thread posting[threads];
  for (std::thread& each : posting) {
    each = std::thread{[&] {
      for (int i = 0; i < posts; ++i) { arena.post(job.job); }
    }};
  }
  for (std::thread& each : posting) { each.join(); }
  job.wait_for(threads * posts);
  EXPECT_EQ(job.runs, threads * posts);
}

// requirement: an arena for one worker runs one job at a time. In this arena, oneTBB reserves no
// place for the thread that posts.
TEST_F(TbbBridge, AnArenaOfOneRunsOneJobAtATime) {
  struct overlap {
    std::atomic<int> inside{0}, most{0}, done{0};
    posted_job job{[](void* context) {
                     auto& self = *static_cast<overlap*>(context);
                     int const now = ++self.inside;
                     if (now > self.most) { self.most = now; }
                     std::this_thread::yield();
                     --self.inside;
                     ++self.done;
                     self.done.notify_all();
                   },
                   this};
  } jobs;
  worker_arena arena{1};
  for (int i = 0; i < 50; ++i) { arena.post(jobs.job); }
  for (int seen = jobs.done; seen < 50; seen = jobs.done) { jobs.done.wait(seen); }
  EXPECT_EQ(jobs.most, 1);
}

// regression: "TBB Warning: The number of workers is currently limited to 1" was on stderr
TEST(TbbLimits, ALargeArenaPrintsNoWarningAndRunsJobs) {
  for (std::size_t const threads : {1, 2, 3}) {
    // A child process, because oneTBB prints the warning only once.
    FLOTILLA_EXPECT_IN_CHILD([threads] {
      tbb::global_control const limit{tbb::global_control::max_allowed_parallelism, threads};
      testing::internal::CaptureStderr();
      initialize_tbb();
      counting_job job;
      job.plain = 7;
      {
        worker_arena arena{8};
        for (int i = 1; i <= 50; ++i) {
          arena.post(job.job);
          job.wait_for(i);
        }
      }
      EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    });
  }
}

// requirement: a thread that waits in oneTBB inside `isolated` runs no tasks that were created
// outside `isolated`
TEST_F(TbbBridge, IsolatedWaitsRunNothingFromOutside) {
  static thread_local bool in_isolation = false;
  std::atomic<int> taken{0};
  test::tbb_parallel_for_in_arena(2, 64, [&](int) {
    if (in_isolation) { ++taken; }
    isolated(
        [](void*) {
          in_isolation = true;
          test::tbb_parallel_for(64, [](int) { std::this_thread::yield(); });
          in_isolation = false;
        },
        nullptr);
  });
  EXPECT_EQ(taken, 0);
}

}  // namespace
}  // namespace flotilla::base
