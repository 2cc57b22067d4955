// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What threads tell the writer of a trace. A record is a number of 64-bit words in the buffer of a
// thread (trace_thread).

#include <bit>
#include <cstdint>
#include <type_traits>

#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

enum class record_kind : std::uint8_t {
  task,
  open_task,  // a task_record of a task that has not ended when the trace ends
  batch,
  drive,
  counters,
  measured,
  launches,
  message,
  clock,
};

/// The first word of each record.
struct record_head {
  std::uint32_t session;  // the trace to which the record belongs
  std::uint16_t words;    // of the whole record, with this word
  record_kind kind;
  std::uint8_t unused = 0;
};

/// Identifies a task in a trace. Two tasks of a runtime have the same number only if 2^31 tasks
/// used the same slot between them.
[[nodiscard]] constexpr std::uint64_t trace_number(slot_address task,
                                                   std::uint64_t generation) noexcept {
  // An open task has an odd generation.
  constexpr unsigned slot_bits = 24;  // 65536 slots of 256 places
  return (static_cast<std::uint32_t>(generation) >> 1) * (std::uint64_t{1} << slot_bits) + task;
}

/// How a task has ended, or that it has not ended when the trace ends.
enum class traced_end : std::uint8_t {
  succeeded,
  failed,
  cancelled,  // before the holder of the lease could end it; the record has no predecessors
  unfinished,
};

/// A task that has ended, or that is open when the trace ends (then `ended` is the time of that).
/// After it in the record come the numbers of its predecessors, and the label in as many words as
/// it needs. Times are nanoseconds of std::chrono::steady_clock.
/// The task begins at `begun` at the earliest, and has ended at `ended` at the latest.
struct task_record {
  static constexpr std::uint16_t no_device = 0xffff;

  record_head head{};
  std::uint64_t number = 0;  // trace_number
  std::int64_t submitted = 0;
  std::int64_t launched = 0;
  std::int64_t begun = 0;
  std::int64_t ended = 0;
  std::uint64_t amount = 0;       // bytes of a copy or fill, items of a chunk
  std::uint32_t thread = 0;       // the thread that has submitted the task
  std::uint32_t kernel = 0;       // launches and chunks: index in kernel_table
  std::uint16_t device = 0;       // no_device: none
  std::uint16_t lane = 0;         // trace_stamp::no_lane: none
  std::uint16_t from_device = 0;  // a copy between devices: the source; else no_device
  std::uint16_t predecessors = 0;
  task_kind kind{};
  traced_end end{};
  std::uint8_t operation = 0;    // of a memory_op: a memory_op_kind
  std::uint8_t label_bytes = 0;  // 0: no label
  std::uint32_t unused = 0;
};

/// Launches of one kernel that were launched and have ended together, with success, without
/// predecessors and labels. After it in the record comes a launch_entry for each of them. It saves
/// the threads and the buffers most of the words that a task_record for each of them would have.
struct launches_record {
  record_head head{};
  std::int64_t launched = 0;
  std::int64_t begun = 0;  // as in task_record
  std::int64_t ended = 0;
  std::uint32_t kernel = 0;
  std::uint16_t device = 0;
  std::uint16_t lane = 0;
};

struct launch_entry {
  static constexpr std::int64_t max_queued = (std::int64_t{1} << 40) - 1;  // 18 minutes
  std::uint64_t number;                                                    // trace_number
  std::uint64_t queued : 40;  // nanoseconds from the submit to the launch
  std::uint64_t thread : 24;  // the thread that has submitted the task
};
static_assert(sizeof(launch_entry) == 2 * sizeof(std::uint64_t));

/// A batch whose end was seen.
struct batch_record {
  record_head head{};
  std::int64_t launched = 0;
  std::int64_t begun = 0;  // as in task_record
  std::int64_t ended = 0;
  std::uint32_t tasks = 0;
  std::uint32_t traced = 0;  // how many of them have task records
  std::uint16_t device = 0;
  std::uint16_t lane = 0;
  std::uint32_t kernel = 0;  // of the first task
  bool has_kernel = false;   // whether the first task is a launch
  std::uint8_t unused[7] = {};
};

/// A period in which a thread drove a device.
struct drive_record {
  record_head head{};
  std::int64_t begun = 0;
  std::int64_t ended = 0;
  std::uint32_t thread = 0;
  std::uint16_t device = 0;
  std::uint16_t unused = 0;
};

struct counters_record {
  record_head head{};
  std::int64_t when = 0;
  std::uint64_t queued = 0;     // tasks in inboxes, or without room in a lane
  std::uint64_t in_flight = 0;  // launches
  std::uint64_t memory = 0;     // bytes of buffers
  std::uint64_t device = 0;
};

/// A launch between two events of the device's clock. It begins no earlier than `launched` and
/// ends no later than `seen`.
struct measured_record {
  record_head head{};
  std::int64_t launched = 0;
  std::int64_t seen = 0;
  std::int64_t took = 0;
  std::uint32_t kernel = 0;
  std::uint32_t tasks = 0;
  std::uint16_t device = 0;
  std::uint16_t lane = 0;
  std::uint32_t unused = 0;
};

/// The task whose record comes next from this thread copies data to or from another rank.
struct message_record {
  record_head head{};
  std::uint64_t task = 0;   // trace_number
  std::uint64_t arrow = 0;  // the same in the traces of both ranks
  std::uint32_t peer = 0;
  std::uint32_t sends = 0;  // 0: the task receives
};

/// Which rank writes the trace. If `run` is not 0, rank 0 has also told its time: it was `there` at
/// some time from `asked` to `answered`. On rank 0 itself, all three are the same.
struct clock_record {
  record_head head{};
  std::int64_t asked = 0;
  std::int64_t answered = 0;
  std::int64_t there = 0;
  std::uint64_t run = 0;  // the same for all ranks of a run of the program
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
};

template <class Record>
inline constexpr std::uint16_t words_of = sizeof(Record) / sizeof(std::uint64_t);

static_assert(sizeof(record_head) == sizeof(std::uint64_t));
/// How many tasks a record describes.
[[nodiscard]] constexpr std::uint64_t tasks_of(record_head head) noexcept {
  if (head.kind == record_kind::task) { return 1; }
  if (head.kind != record_kind::launches) { return 0; }
  return (head.words - words_of<launches_record>) / words_of<launch_entry>;
}

static_assert(sizeof(launches_record) % 8 == 0 && std::is_trivially_copyable_v<launches_record>);
static_assert(sizeof(task_record) % 8 == 0 && std::is_trivially_copyable_v<task_record>);
static_assert(sizeof(batch_record) % 8 == 0 && sizeof(drive_record) % 8 == 0);
static_assert(sizeof(counters_record) % 8 == 0 && sizeof(measured_record) % 8 == 0);
static_assert(sizeof(message_record) % 8 == 0 && sizeof(clock_record) % 8 == 0);

}  // namespace flotilla::dispatch
