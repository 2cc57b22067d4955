// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The threads that run continuations end after a second without work.

#include "dispatch/ordering/continuation_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>

#include "support/eventually.hpp"

namespace flotilla::dispatch {
namespace {

/// Counts the end of a thread. A thread destroys its thread_local objects after it has left its
/// place.
struct end_counter {
  std::atomic<int>* ended = nullptr;
  ~end_counter() {
    if (ended != nullptr) { ++*ended; }
  }
};

void give(std::shared_ptr<continuation_table> const& table, doorbell const& bell, auto callable) {
  auto const state = std::make_shared<continuation_state>(table);
  state->callable = detail::make_continuation(std::move(callable));
  table->arrived(state, nullptr);
  bell.ring_for_continuations();
}

// requirement: after all threads have ended, continuations get a thread again
TEST(ContinuationThreads, BeginAgainAfterAllHaveEnded) {
  std::atomic<int> begun{0}, ended{0};
  std::atomic<bool> has_run{false};
  doorbell bell;
  auto const table = std::make_shared<continuation_table>(bell, nullptr);
  continuation_threads threads{*table, bell};
  // Each of these continuations waits for the others, so each has a thread of its own.
  for (int i = 0; i < continuation_threads::max_threads; ++i) {
    give(table, bell, [&](std::exception_ptr const&) {
      thread_local end_counter counter;
      counter.ended = &ended;
      ++begun;
      EXPECT_TRUE(test::eventually([&] { return begun == continuation_threads::max_threads; }));
    });
  }
  ASSERT_TRUE(test::eventually([&] { return ended == continuation_threads::max_threads; }));
  give(table, bell, [&](std::exception_ptr const&) { has_run = true; });
  EXPECT_TRUE(test::eventually([&] { return has_run.load(); }));
  EXPECT_TRUE(threads.serves());
}

}  // namespace
}  // namespace flotilla::dispatch
