// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "tbb_control.hpp"

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <deque>
#include <thread>

#include "base/cache_line.hpp"

namespace flotilla::bench {

struct tbb_control::impl {
  explicit impl(options const& wanted)
      : groups(static_cast<std::size_t>(wanted.producers)), arena{wanted.workers, 0} {}

  std::deque<oneapi::tbb::task_group> groups;  // a deque, because a task_group cannot be moved
  oneapi::tbb::task_arena arena;
  alignas(base::cache_line) std::atomic<std::int64_t> enqueued{0};  // written by producers
  alignas(base::cache_line) std::atomic<std::int64_t> ran{0};       // written by bodies
};

tbb_control::tbb_control(options const& wanted)
    : created_with{wanted}, impl_{std::make_unique<impl>(wanted)}, producers{wanted.producers} {
  impl_->arena.initialize();
  producers.run([this](int producer) {  // warm-up: starts oneTBB's threads
    run_in_group(producer, 64);
    wait_for_group(producer);
    enqueue(64);
  });
  wait_for_enqueued();
}

tbb_control::~tbb_control() = default;

void tbb_control::run_in_group(int producer, std::int64_t tasks) {
  oneapi::tbb::task_group& group = impl_->groups[static_cast<std::size_t>(producer)];
  for (std::int64_t i = 0; i < tasks; ++i) {
    group.run([] {});
  }
}

void tbb_control::wait_for_group(int producer) {
  impl_->groups[static_cast<std::size_t>(producer)].wait();
}

void tbb_control::enqueue(std::int64_t tasks) {
  // relaxed: the count is read after the producers have finished
  impl_->enqueued.fetch_add(tasks, std::memory_order_relaxed);
  std::atomic<std::int64_t>& ran = impl_->ran;
  for (std::int64_t i = 0; i < tasks; ++i) {
    // release: pairs with the acquire in wait_for_enqueued(). When that function has returned, no
    // body accesses `ran`, so `ran` may be destroyed.
    impl_->arena.enqueue([&ran] { ran.fetch_add(1, std::memory_order_release); });
  }
}

void tbb_control::wait_for_enqueued() const {
  std::int64_t const all = impl_->enqueued.load(std::memory_order_relaxed);
  while (impl_->ran.load(std::memory_order_acquire) != all) { std::this_thread::yield(); }
}

}  // namespace flotilla::bench
