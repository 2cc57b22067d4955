// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the threads of a runtime do for a trace.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "base/cache_line.hpp"
#include "dispatch/task/task_table.hpp"
#include "dispatch/trace/trace_records.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {
class trace_session;
}
}  // namespace v0_1
}  // namespace flotilla

namespace flotilla::dispatch {

class trace_threads;

/// The switch of a runtime's traces, and the functions that put records into the buffer of the
/// calling thread. These functions never wait, and are called only if `active` returns true. If the
/// trace ends meanwhile, their records are ignored.
///
/// A task is chosen at its submit, by a hash of its number. So the thread that ends it can tell
/// without a flag whether it was chosen. Tasks that a thread submits one after the other are mostly
/// chosen together, so that a trace of some tasks has the arrows between them. The record of a task
/// is written when it ends, with all of its times. Until then, the times are in the trace_stamp.
class tracer {
 public:
  using clock = std::chrono::steady_clock;

  /// @param runtime  The number of the runtime.
  /// @param changed  `changed(on)` is called when a trace begins or ends.
  tracer(std::uint64_t runtime, task_table const& tasks, std::function<void(bool)> changed);
  ~tracer();
  tracer(tracer const&) = delete;
  tracer& operator=(tracer const&) = delete;

  /// Whether a trace is on. Cost: one load. Threads: any.
  [[nodiscard]] bool active() const noexcept {
    // Relaxed: a thread may see the change late. Then its tasks are not in the trace.
    return bound_.load(std::memory_order_relaxed) != 0;
  }
  [[nodiscard]] static std::int64_t now() noexcept { return as_ns(clock::now()); }
  [[nodiscard]] static std::int64_t as_ns(clock::time_point when) noexcept {
    return when.time_since_epoch().count();
  }

  // ---- tasks ----

  /// Whether a trace is on and has chosen the task that the slot will hold next. Threads: the
  /// submitting thread. Cost: a multiplication.
  [[nodiscard]] bool will_choose(slot const& one, slot_address task) const noexcept {
    generation_word const word{one.generation.load(std::memory_order_relaxed)};
    return is_chosen(trace_number(task, word.generation() + 1));
  }
  /// Notes a task that its slot will hold next. Threads: the submitting thread, before it opens the
  /// task.
  void note_submit(slot_address task) noexcept;
  /// The task of the last `note_submit` was refused after all.
  void note_withdrawn(slot_address task) noexcept;
  /// The work of a task begins, which is in no batch, or whose batch begins later. Threads: those
  /// that may end the task.
  void note_begin(slot_address task) noexcept;
  /// The end of the task's batch was seen. `note_end` follows. Threads: as note_begin.
  /// @return whether the task was chosen.
  bool note_batch(slot_address task, std::int64_t launched, std::int64_t begun,
                  unsigned lane) noexcept;
  /// The task ends. Threads: as note_begin, while the task is open.
  void note_end(slot_address task, bool failed) noexcept {
    if (slot_side* const side = chosen(task)) {
      generation_word const word{tasks_.at(task).generation.load(std::memory_order_relaxed)};
      push_task(task, word.generation(), *side, failed ? traced_end::failed : traced_end::succeeded,
                now());
    }
  }
  /// The tasks of a batch end, all of them with success. @return how many of them were chosen.
  std::uint32_t note_ends(std::span<slot_address const> tasks, std::int64_t launched,
                          std::int64_t begun, std::int64_t ended, unsigned lane) noexcept;

  /// Two threads may want to write the record of a cancelled task: the one that has claimed its end
  /// (claim_early_end), and the holder of the device's lease at the end of the trace. The first one
  /// writes it. For any other open task, only the holder of the lease may call this function.
  /// @param end  traced_end::cancelled or traced_end::unfinished. A later end has no record then.
  /// @return whether the task was chosen and this call has written the record.
  bool note_first(slot_address task, traced_end end, std::int64_t when) noexcept;

  /// The task copies data to or from another rank. The calling thread then ends it.
  /// @param arrow  The same number on both ranks.
  void note_message(slot_address task, std::uint64_t arrow, int peer, bool sends) noexcept;

  // ---- other records ----

  /// Puts a record into the buffer of the calling thread.
  template <class Record>
  void push(record_kind kind, Record record) noexcept {
    if constexpr (requires { record.thread; }) { record.thread = index_of_this_thread(); }
    record.head = head_of(kind, words_of<Record>);
    push({reinterpret_cast<std::uint64_t const*>(&record), words_of<Record>});
  }

  // ---- the session ----

  /// Begins a trace. @return its number.
  std::uint32_t begin(std::uint32_t every) noexcept;
  void end() noexcept;
  [[nodiscard]] trace_threads& threads() noexcept { return *threads_; }
  struct current_session {
    std::mutex mutex;                                // guards `session`, and changes of `number`
    std::shared_ptr<detail::trace_session> session;  // the trace that is on; null if there is none
    std::atomic<std::uint32_t> number{0};            // of this trace, or else of the last one
  };
  [[nodiscard]] current_session& current() noexcept { return current_; }

 private:
  class launch_group;
  static constexpr std::uint64_t slots_chosen_together = 32;  // slot_pool::block_slots

  [[nodiscard]] record_head head_of(record_kind kind, std::size_t words) const noexcept {
    return {current_.number.load(std::memory_order_relaxed), static_cast<std::uint16_t>(words),
            kind};
  }
  [[nodiscard]] bool is_chosen(std::uint64_t number) const noexcept {
    constexpr std::uint64_t golden_ratio = 0x9e37'79b9'7f4a'7c15;
    std::uint64_t const bound = bound_.load(std::memory_order_relaxed);
    // The slots of a block have the same hash: a thread takes them one after the other.
    return bound != 0 && (number / slots_chosen_together) * golden_ratio <= bound;
  }
  /// Returns the side of an open task that was chosen in this trace, otherwise null.
  [[nodiscard]] slot_side* chosen(slot_address task) const noexcept;
  void push(std::span<std::uint64_t const> record) noexcept;
  [[nodiscard]] std::uint32_t index_of_this_thread() noexcept;
  void push_task(slot_address task, std::uint64_t generation, slot_side& side, traced_end end,
                 std::int64_t ended) noexcept;

  task_table const& tasks_;
  std::unique_ptr<trace_threads> const threads_;
  std::function<void(bool)> const changed_;
  current_session current_;
  // Written under the mutex. It has a cache line of its own, because every batch reads it.
  alignas(base::cache_line) std::atomic<std::uint64_t> bound_{0};  // of the hash; 0: no trace
};

}  // namespace flotilla::dispatch
