// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/overdue_tasks.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <string>

#include "base/thread_pin.hpp"
#include "dispatch/task/cancellation.hpp"

namespace flotilla::dispatch {

namespace {

using clock = std::chrono::steady_clock;
// The thread sleeps until the next deadline. This bounds the sleep while there is none.
constexpr std::chrono::minutes max_sleep{10};

// The threads of the program that end a cancelled task of any runtime, or are in a stop callback.
// Such a thread may end the last task of a runtime, so the runtime must not be deleted before the
// thread has left.
std::atomic<int> cancelling_threads{0};

class cancelling {
 public:
  // Before the thread looks at the poison: the end of a poisoned runtime waits for no task.
  cancelling() noexcept {
    cancelling_threads.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with that in overdue_tasks::stop
  }
  // release: pairs with the acquire in overdue_tasks::stop
  ~cancelling() { cancelling_threads.fetch_sub(1, std::memory_order_release); }
  cancelling(cancelling const&) = delete;
  cancelling& operator=(cancelling const&) = delete;
};

}  // namespace

void overdue_tasks::watch(slot_address task, std::uint64_t generation,
                          clock::time_point when) noexcept {
  slot& one = parts_.tasks.at(task);
  // Decide now, because a device could launch the task before the thread looks at the clock.
  if (when <= clock::now()) {
    static_cast<void>(request_cancel(one, generation, cancel_reason::deadline));
  }
  // Set the bit first: the end of the task removes the entry only if the bit is set.
  one.generation.fetch_or(generation_word::timed_bit, std::memory_order_relaxed);
  deadline_entry& entry = parts_.tasks.side(task).watch->deadline;
  entry.when = when;
  entry.task = task;
  entry.generation = generation;
  parts_.deadlines.add(entry);
  start_thread();
}

void overdue_tasks::start_thread_now() noexcept {
  std::lock_guard const lock{mutex_};
  if (has_started_.exchange(true, std::memory_order_relaxed) || parts_.single_threaded) { return; }
  try {
    thread_ = base::start_thread([this] { run(); });
  } catch (std::exception const&) {
    // No memory, or the system has no thread for us. Then waiting threads look at the clock.
  }
}

void overdue_tasks::stop() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  while (cancelling_threads.load(std::memory_order_acquire) != 0) { std::this_thread::yield(); }
  std::lock_guard const lock{mutex_};
  if (!thread_.joinable()) { return; }
  parts_.deadlines.stop();
  thread_.join();
}

void overdue_tasks::run() noexcept {
  ::pthread_setname_np(::pthread_self(), "flotilla-timer");
  constexpr std::chrono::milliseconds between_looks_for_losses{5};
  clock::duration time = parts_.stuck.is_active() ? parts_.stuck.interval() : max_sleep;
  if (parts_.lost.any_isolated()) {
    time = std::min<clock::duration>(time, between_looks_for_losses);
  }
  if (parts_.long_waits.is_active()) { time = std::min(time, parts_.long_waits.interval()); }
  while (parts_.deadlines.sleep_until_due(time)) {
    end_due();
    parts_.stuck.look();
    parts_.lost.look();
    parts_.long_waits.look_at_sleeps();
  }
}

bool overdue_tasks::end_all_due() noexcept {
  std::array<deadline_queue::due_task, 32> due;
  bool any = false;
  while (std::size_t const count = parts_.deadlines.take_due(clock::now(), due)) {
    any = true;
    for (std::size_t i = 0; i < count; ++i) {
      auto const [task, generation] = due[i];
      auto const answer =
          request_cancel(parts_.tasks.at(task), generation, cancel_reason::deadline);
      if (answer == cancel_answer::will_not_run) { end_cancelled(task, generation); }
    }
  }
  return any;
}

void overdue_tasks::end_cancelled(slot_address task, std::uint64_t generation) noexcept {
  cancelling const here;
  // On a poisoned runtime, every open task has the error of the runtime already.
  if (parts_.faults.is_poisoned()) { return; }
  slot& one = parts_.tasks.at(task);
  if (!claim_early_end(one, generation)) { return; }
  try {
    std::uint32_t const device = one.device.load(std::memory_order_relaxed);
    std::string const text = parts_.text.describe(
        task, device == 0 ? "on no device yet" : "device " + std::to_string(device - 1));
    generation_word const word{one.generation.load(std::memory_order_relaxed)};
    parts_.ends.end_early(task, make_cancellation(text, word));
  } catch (std::bad_alloc const&) {
    // There is no memory for the failure of the task, so the task cannot end.
    parts_.faults.note_out_of_memory();
  }
}

void overdue_tasks::cancel_on_stop(void* self, slot_address task,
                                   std::uint64_t generation) noexcept {
  cancelling const here;
  auto& me = *static_cast<overdue_tasks*>(self);
  auto const answer = request_cancel(me.parts_.tasks.at(task), generation);
  if (answer == cancel_answer::will_not_run) { me.end_cancelled(task, generation); }
}

}  // namespace flotilla::dispatch
