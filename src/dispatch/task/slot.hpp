// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The record of a submitted task. A slot of zeros is valid and free.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/cache_line.hpp"
#include "dispatch/task/priority.hpp"

namespace flotilla::dispatch {

enum class task_kind : std::uint8_t {
  launch,
  memory_op,
  callable,
  recorded,
  event_wait,
  bulk_end,  // what the ticket of a bulk names
  chunk,     // several items of a bulk
  host,      // a function that runs without a context
};

/// The address of a slot: the upper half is the number of the slot's pool, and the lower half is
/// the slot's index in that pool.
using slot_address = std::uint32_t;
inline constexpr slot_address no_slot = 0xffff'ffff;

/// The lane and the completion number that show the end of a launched task. Both are in one word,
/// so that a thread reads or writes them atomically. Zero means that the task is not launched.
struct end_mark {
  std::uint64_t word = 0;
  static end_mark of(unsigned device, unsigned lane, std::uint64_t number) noexcept {
    return {std::uint64_t{device} << 56 | std::uint64_t{lane} << 48 | number};
  }
  [[nodiscard]] bool valid() const noexcept { return word != 0; }
  [[nodiscard]] unsigned device() const noexcept { return static_cast<unsigned>(word >> 56); }
  [[nodiscard]] unsigned lane() const noexcept { return static_cast<unsigned>(word >> 48) & 0xff; }
  [[nodiscard]] std::uint64_t number() const noexcept { return word & 0xffff'ffff'ffff; }
};

/// The place of an open batch on its device: its wave (see open_waves) and its lane.
struct batch_place {
  unsigned wave;
  unsigned lane;
  bool operator==(batch_place const&) const = default;
};

/// The device and the place of the open batch that contains a task. Zero means that the task is in
/// no open batch.
struct batch_mark {
  static std::uint32_t of(unsigned device, batch_place where) noexcept {
    return (device + 1) << 16 | where.wave << 8 | where.lane;
  }
  static bool is_on(std::uint32_t mark, unsigned device) noexcept {
    return mark >> 16 == device + 1;
  }
  /// Returns the device of a mark that is not 0.
  static unsigned device(std::uint32_t mark) noexcept { return (mark >> 16) - 1; }
  static batch_place place(std::uint32_t mark) noexcept { return {mark >> 8 & 0xff, mark & 0xff}; }
};

/// An open batch of another device.
struct place_elsewhere {
  unsigned device;
  batch_place place;
  friend bool operator==(place_elsewhere const&, place_elsewhere const&) = default;
};

/// How far the cancellation of a task has come (see cancellation.hpp).
enum class cancel_state : std::uint8_t {
  none,
  requested,  // not decided yet
  withdrawn,  // decided: the launch had begun, so the task runs
  cancelled,  // decided: the task will not run. No thread has begun to end it
  taken,      // the thread that has the task in a queue ends it
  ending,     // another thread ends it, and the slot is still in a queue
  dropped,    // another thread ends it, and the slot is in no queue any more
  left,       // another thread has ended it, and the slot is still in a queue
};
/// Returns whether a task with this state will not run.
[[nodiscard]] constexpr bool is_final_cancellation(cancel_state state) noexcept {
  return state >= cancel_state::cancelled;
}

/// The word with a slot's generation, nine flags and a cancel_state. The generation increases when
/// a task is submitted and again when the task ends, so an odd generation means open. `no_ticket`
/// says that the task was submitted without a ticket. `watched` says that a continuation waits for
/// the task. `stoppable` says that slot_side watches a std::stop_token for the task. `counted`
/// says that the task is an item of a bulk, which slot_side names. `keeps_failure` says that the
/// failure of the task must stay until failure_table::forget. `timed` says that deadline_queue has
/// the task. `ends_late` says that the task must not end before its predecessors (late_ends).
/// `expired` says that the reason of a cancellation is the deadline. `followed` says that tasks may
/// be parked on the task: if it is not set, the thread that ends the task need not look at the list
/// of successors. All of them are in one word, so the thread that ends the task reads the flags in
/// the same atomic step, and a request to cancel a task never reaches the next task of the slot.
struct generation_word {
  static constexpr std::uint64_t no_ticket_bit = 1;
  static constexpr std::uint64_t watched_bit = 2;
  static constexpr std::uint64_t stoppable_bit = 4;
  static constexpr std::uint64_t counted_bit = 8;
  static constexpr std::uint64_t keeps_failure_bit = 16;
  static constexpr std::uint64_t timed_bit = 32;
  static constexpr std::uint64_t ends_late_bit = 64;
  static constexpr std::uint64_t expired_bit = 128;
  static constexpr std::uint64_t followed_bit = 256;
  static constexpr unsigned cancel_shift = 9;
  static constexpr std::uint64_t cancel_bits = std::uint64_t{7} << cancel_shift;
  static constexpr unsigned generation_shift = 12;
  static constexpr std::uint64_t of(std::uint64_t generation) noexcept {
    return generation << generation_shift;
  }
  std::uint64_t word = 0;
  [[nodiscard]] std::uint64_t generation() const noexcept { return word >> generation_shift; }
  [[nodiscard]] bool open() const noexcept { return (generation() & 1) != 0; }
  [[nodiscard]] bool has_ticket() const noexcept { return (word & no_ticket_bit) == 0; }
  [[nodiscard]] bool watched() const noexcept { return (word & watched_bit) != 0; }
  [[nodiscard]] bool stoppable() const noexcept { return (word & stoppable_bit) != 0; }
  [[nodiscard]] bool counted() const noexcept { return (word & counted_bit) != 0; }
  [[nodiscard]] bool keeps_failure() const noexcept { return (word & keeps_failure_bit) != 0; }
  [[nodiscard]] bool timed() const noexcept { return (word & timed_bit) != 0; }
  [[nodiscard]] bool ends_late() const noexcept { return (word & ends_late_bit) != 0; }
  [[nodiscard]] bool expired() const noexcept { return (word & expired_bit) != 0; }
  [[nodiscard]] bool followed() const noexcept { return (word & followed_bit) != 0; }
  /// Returns whether the word is `watched`, `stoppable`, `counted` or `timed`.
  [[nodiscard]] bool observed() const noexcept {
    return (word & (watched_bit | stoppable_bit | counted_bit | timed_bit)) != 0;
  }
  /// Returns whether the slot holds a task: an open one, or one that has ended and is still in a
  /// queue.
  [[nodiscard]] bool holds_task() const noexcept {
    return open() || is_final_cancellation(cancel());
  }
  [[nodiscard]] cancel_state cancel() const noexcept {
    return static_cast<cancel_state>((word & cancel_bits) >> cancel_shift);
  }
  /// Returns the same word with another cancel_state.
  [[nodiscard]] std::uint64_t with(cancel_state state) const noexcept {
    return (word & ~cancel_bits) | std::uint64_t{static_cast<std::uint8_t>(state)} << cancel_shift;
  }
};

/// Decides which comes first: the end of the ticket, or the end of the task. Each slot has one such
/// word. It is not in the slot itself: a ticket is often dropped just after the submit, when
/// another core already reads the slot, and the cache line would move to and fro.
class ticket_word {
 public:
  /// The thread that drops the ticket and the thread that ends the task call this once each, with
  /// the task's generation. @return whether the caller is the first of the two.
  [[nodiscard]] bool settle(std::uint64_t generation) noexcept {
    // The word is larger if a later task of the slot is settled. acq_rel, acquire: the second
    // thread sees what the first one did before.
    std::uint64_t seen = settled_.load(std::memory_order_acquire);
    while (seen < generation) {
      if (settled_.compare_exchange_weak(seen, generation, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
        return true;
      }
    }
    return false;
  }

 private:
  std::atomic<std::uint64_t> settled_;  // the generation of the last task that was settled
};

/// The list of the tasks that are parked on one task, their predecessor. The word holds the index
/// of the first parked task, and the predecessor's generation. `next_parked` of each parked task
/// refers to the next. The list is closed when a predecessor ends on which a task was parked, or
/// when a thread finds tasks in the list of a launched predecessor. No task parks on a closed list,
/// or on a task that has ended.
struct successor_word {
  static constexpr std::uint32_t none = 0xffff'ffff;
  static constexpr std::uint32_t closed = 0xffff'fffe;
  static std::uint64_t of(std::uint64_t generation, std::uint32_t head) noexcept {
    return generation << 32 | head;
  }
  static std::uint32_t generation(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static std::uint32_t head(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word);
  }
  static bool is_task(std::uint32_t head) noexcept { return head != none && head != closed; }
};

struct alignas(base::cache_line) slot {
  // The value of `parked_on` for a host task, which waits for all of its predecessors at once.
  static constexpr std::uint32_t parked_as_host = 0xffff'ffff;
  static constexpr std::size_t inline_dependencies = 4;
  static constexpr std::size_t inline_bytes = 128;

  // The words that several threads share. The comments begin with the writers of each word. Acquire
  // loads of `generation` pair with the release in open_slot and the exchange in task_end. Acquire
  // loads of `end` pair with the release in mark_launched. Acquire loads of `successors` pair with
  // the exchanges in park and take_successors. Acquire loads of `device` pair with the release in
  // intake.
  std::atomic<std::uint64_t>
      generation;  // submitter, task_end; the flags: submitter, `then`, cancel, park
  std::atomic<std::uint64_t> end;          // holder of the device's lease: an end_mark
  std::atomic<std::uint64_t> successors;   // threads that park, launch, end: a successor_word
  std::atomic<std::uint64_t> epoch;        // submitter: the epoch of the submit
  std::atomic<std::uint32_t> device;       // submitter, pulling device: 1 + device; 0: none
  std::atomic<std::uint32_t> parked_on;    // parking, releasing threads: 1 + slot; 0: not parked
  std::atomic<std::uint32_t> next_parked;  // parking threads: the next task in the list
  std::atomic<std::uint32_t> demanded;     // waiting threads: a hint that a thread waits
  std::atomic<std::uint32_t> batched;      // holder of the device's lease: a batch_mark

  // The submitter writes the members below before it pushes the slot's address. The holder of the
  // lease reads them, and may turn a copy into a launch (kernel_copies).
  task_kind kind;
  bool batch : 1;              // whether the task may share a batch
  bool repeatable : 1;         // task_options::repeatable
  bool was_suspect : 1;        // holder of the lease: it may have run when its device was lost
  bool holds_callable;         // `bytes` holds a callable; the lease holder clears this flag
  bool large;                  // the arguments of the launch are in slot_side
  std::atomic<bool> posted;    // the task has no ticket; posted_errors reads this at any time
  std::atomic<bool> starting;  // holder of the lease: a launch has begun (see cancellation.hpp)
  priority_level level;
  bool labelled;            // slot_side holds the label
  std::uint32_t submitter;  // lower half of context::this_thread_token

  // The second cache line. It ends with the first arguments, so a launch with few arguments and no
  // predecessors uses two lines of its slot.
  std::uint32_t kernel;
  std::uint32_t shared_bytes;
  std::uint32_t grid[3];
  std::uint16_t block[3];
  std::uint16_t argument_bytes;
  std::uint16_t dependencies;  // number of predecessors; slot_side holds all after the fourth
  bool attributed;             // a launch: slot_side holds attributes or the place of a task_status
  bool has_order_only;         // if there are predecessors: slot_side::order_only is not 0
  // The arguments of a launch, or a memory_command, callable, replayed_part, event_command or
  // chunk_command.
  alignas(16) std::byte bytes[inline_bytes];

  std::array<std::uint32_t, inline_dependencies> after_slot;
  // The lower halves of generations. They suffice, because no task waits so long that another slot
  // goes through 2^32 generations.
  std::array<std::uint32_t, inline_dependencies> after_generation;

  /// The number of bytes of `bytes` in the second cache line.
  static constexpr std::size_t bytes_in_second_line = 32;
};
static_assert(sizeof(slot) == 256);
// The thread that launches tasks reads the first cache line of each slot in any case.
static_assert(offsetof(slot, submitter) < base::cache_line);
static_assert(offsetof(slot, kernel) == base::cache_line);
static_assert(offsetof(slot, bytes) + slot::bytes_in_second_line == 2 * base::cache_line);
static_assert(offsetof(slot, after_slot) + sizeof(slot::after_slot) +
                      sizeof(slot::after_generation) ==
                  4 * base::cache_line,
              "the predecessors are in the fourth line");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Returns the number of blocks of the launch.
[[nodiscard]] inline std::uint64_t blocks_of(slot const& task) noexcept {
  return std::uint64_t{task.grid[0]} * task.grid[1] * task.grid[2];
}

/// Returns the memory_command, callable, replayed_part, event_command or chunk_command in a slot.
template <class T>
[[nodiscard]] T& held_in(slot& task) noexcept {
  return *std::launder(reinterpret_cast<T*>(task.bytes));
}

}  // namespace flotilla::dispatch
