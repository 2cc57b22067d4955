// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/tracer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include <flotilla/detail/memory_command.hpp>

#include "dispatch/task/chunk_command.hpp"
#include "dispatch/task/slot_pool.hpp"
#include "dispatch/trace/trace_threads.hpp"

namespace flotilla::dispatch {

namespace {

// A record has at most trace_thread::max_words words. A task with more predecessors than this is in
// the trace with the first of them.
constexpr std::size_t max_predecessors = 1024;
constexpr std::size_t label_words = sizeof(slot_side::label) / sizeof(std::uint64_t);
using task_words =
    std::array<std::uint64_t, words_of<task_record> + max_predecessors + label_words>;

/// Writes what kind of task it is.
void describe(slot& task, task_record& record) noexcept {
  record.kind = task.kind;
  record.from_device = task_record::no_device;
  switch (task.kind) {
    case task_kind::launch: record.kernel = task.kernel; break;
    case task_kind::chunk:
      record.kernel = task.kernel;
      record.amount = items_of(task);
      break;
    case task_kind::memory_op: {
      auto const& what = held_in<detail::memory_command>(task);
      record.operation = static_cast<std::uint8_t>(what.kind);
      record.amount = what.bytes;
      if (what.kind == memory_op_kind::device_to_device && what.from_device != what.device) {
        record.from_device = static_cast<std::uint16_t>(what.from_device.value);
      }
      break;
    }
    default: break;
  }
}

}  // namespace

/// Collects launches of a batch that end together, and pushes them as one record.
class tracer::launch_group {
 public:
  launch_group(tracer& of, launches_record const& common) noexcept : of_(of), common_(common) {}
  launch_group(launch_group const&) = delete;
  launch_group& operator=(launch_group const&) = delete;
  ~launch_group() { flush(); }
  static_assert(slots_chosen_together == slot_pool::block_slots);

  /// Adds a task. @return false if the task needs a record of its own.
  bool add(slot const& task, slot_address address, trace_stamp& stamp) noexcept {
    std::uint32_t const device = task.device.load(std::memory_order_relaxed);
    std::int64_t const queued = common_.launched - stamp.submitted;
    bool const is_plain = task.kind == task_kind::launch && task.dependencies == 0 &&
                          !task.labelled && stamp.launched == 0 && device != 0 && queued >= 0 &&
                          queued <= launch_entry::max_queued;
    if (!is_plain) { return false; }
    auto const index = static_cast<std::uint16_t>(device - 1);
    if (count_ == entries_.size() || task.kernel != common_.kernel || index != common_.device) {
      flush();
      common_.kernel = task.kernel;
      common_.device = index;
    }
    entries_[count_++] = {trace_number(address, stamp.generation),
                          static_cast<std::uint64_t>(queued), stamp.thread};
    stamp.forget();
    return true;
  }

 private:
  void flush() noexcept {
    if (count_ == 0) { return; }
    constexpr std::size_t first = words_of<launches_record>;
    std::size_t const size = first + count_ * words_of<launch_entry>;
    common_.head = of_.head_of(record_kind::launches, size);
    std::memcpy(words_.data(), &common_, sizeof common_);
    std::memcpy(words_.data() + first, entries_.data(), count_ * sizeof(launch_entry));
    of_.push({words_.data(), size});
    count_ = 0;
  }

  static constexpr std::size_t max_entries = 128;
  tracer& of_;
  launches_record common_;
  std::size_t count_ = 0;
  std::array<launch_entry, max_entries> entries_;
  std::array<std::uint64_t, words_of<launches_record> + max_entries * words_of<launch_entry>>
      words_;
};

tracer::tracer(std::uint64_t runtime, task_table const& tasks, std::function<void(bool)> changed)
    : tasks_(tasks),
      threads_(std::make_unique<trace_threads>(runtime)),
      changed_(std::move(changed)) {}

tracer::~tracer() = default;

void tracer::push(std::span<std::uint64_t const> record) noexcept {
  if (trace_thread* const here = threads_->here()) { here->push(record); }
}

std::uint32_t tracer::index_of_this_thread() noexcept {
  trace_thread const* const here = threads_->here();
  return here == nullptr ? 0 : here->index();
}

std::uint32_t tracer::begin(std::uint32_t every) noexcept {
  std::uint32_t const number = current_.number.load(std::memory_order_relaxed) + 1;
  current_.number.store(number, std::memory_order_relaxed);
  bound_.store(std::numeric_limits<std::uint64_t>::max() / every, std::memory_order_relaxed);
  changed_(true);
  return number;
}

void tracer::end() noexcept {
  changed_(false);
  bound_.store(0, std::memory_order_relaxed);
}

void tracer::note_submit(slot_address task) noexcept {
  slot const& one = tasks_.at(task);
  generation_word const word{one.generation.load(std::memory_order_relaxed)};
  std::uint64_t const generation = word.generation() + 1;
  if (!is_chosen(trace_number(task, generation))) { return; }
  trace_thread* const here = threads_->here();
  if (here == nullptr) { return; }
  here->count_submit();
  tasks_.side(task).traced = {.submitted = now(),
                              .generation = static_cast<std::uint32_t>(generation),
                              .session = current_.number.load(std::memory_order_relaxed),
                              .thread = here->index()};
}

void tracer::note_withdrawn(slot_address task) noexcept {
  slot const& one = tasks_.at(task);
  generation_word const word{one.generation.load(std::memory_order_relaxed)};
  trace_stamp& stamp = tasks_.side(task).traced;
  if (stamp.generation != static_cast<std::uint32_t>(word.generation() + 1)) { return; }
  stamp.generation = 0;
  if (trace_thread* const here = threads_->here()) { here->withdraw(); }
}

slot_side* tracer::chosen(slot_address task) const noexcept {
  generation_word const word{tasks_.at(task).generation.load(std::memory_order_relaxed)};
  if (!is_chosen(trace_number(task, word.generation()))) { return nullptr; }
  slot_side& side = tasks_.side(task);
  bool const is_noted = side.traced.is_of(word.generation()) &&
                        side.traced.session == current_.number.load(std::memory_order_relaxed);
  return is_noted ? &side : nullptr;
}

void tracer::note_begin(slot_address task) noexcept {
  if (slot_side* const side = chosen(task)) {
    std::int64_t const when = now();
    side->traced.set_launch(when, when);
  }
}

bool tracer::note_batch(slot_address task, std::int64_t launched, std::int64_t begun,
                        unsigned lane) noexcept {
  slot_side* const side = chosen(task);
  if (side == nullptr) { return false; }
  side->traced.set_launch(launched, begun);
  side->traced.lane = lane & trace_stamp::no_lane;
  return true;
}

std::uint32_t tracer::note_ends(std::span<slot_address const> tasks, std::int64_t launched,
                                std::int64_t begun, std::int64_t ended, unsigned lane) noexcept {
  std::uint32_t count = 0;
  launch_group group{*this,
                     {.launched = launched,
                      .begun = begun,
                      .ended = ended,
                      .lane = static_cast<std::uint16_t>(lane & trace_stamp::no_lane)}};
  for (slot_address const task : tasks) {
    slot_side* const side = chosen(task);
    if (side == nullptr) { continue; }
    if (group.add(tasks_.at(task), task, side->traced)) {
      ++count;
      continue;
    }
    side->traced.set_launch(launched, begun);
    side->traced.lane = lane & trace_stamp::no_lane;
    generation_word const word{tasks_.at(task).generation.load(std::memory_order_relaxed)};
    push_task(task, word.generation(), *side, traced_end::succeeded, ended);
    ++count;
  }
  return count;
}

bool tracer::note_first(slot_address task, traced_end end, std::int64_t when) noexcept {
  generation_word const word{tasks_.at(task).generation.load(std::memory_order_relaxed)};
  slot_side* const side = chosen(task);
  if (side == nullptr || !side->traced.take(word.generation())) { return false; }
  push_task(task, word.generation(), *side, end, when);
  return true;
}

void tracer::note_message(slot_address task, std::uint64_t arrow, int peer, bool sends) noexcept {
  if (chosen(task) == nullptr) { return; }
  generation_word const word{tasks_.at(task).generation.load(std::memory_order_relaxed)};
  push(record_kind::message, message_record{.task = trace_number(task, word.generation()),
                                            .arrow = arrow,
                                            .peer = static_cast<std::uint32_t>(peer),
                                            .sends = sends ? 1u : 0u});
}

void tracer::push_task(slot_address task, std::uint64_t generation, slot_side& side, traced_end end,
                       std::int64_t ended) noexcept {
  slot& one = tasks_.at(task);
  trace_stamp& stamp = side.traced;
  // The holder of the lease may just be writing the launch of a task that was cancelled.
  bool const is_launched = end != traced_end::cancelled;
  task_record record{.number = trace_number(task, generation),
                     .submitted = stamp.submitted,
                     .launched = is_launched ? stamp.launched : 0,
                     .begun = is_launched ? stamp.begun() : 0,
                     .ended = ended,
                     .thread = stamp.thread,
                     .lane = static_cast<std::uint16_t>(stamp.lane),
                     .end = end};
  stamp.forget();
  std::uint32_t const device = one.device.load(std::memory_order_relaxed);
  record.device = device == 0 ? task_record::no_device : static_cast<std::uint16_t>(device - 1);
  describe(one, record);
  task_words words;
  std::size_t size = words_of<task_record>;
  // The holder of the lease may just be writing the turn of a cancelled task (predecessors).
  std::size_t const ahead_count = end == traced_end::cancelled ? 0 : one.dependencies;
  for (std::size_t i = 0; i < std::min(ahead_count, max_predecessors); ++i) {
    // A turn that was not taken names no task.
    if (task_key const ahead = tasks_.dependency(task, i); ahead.is_task()) {
      words[size++] = trace_number(ahead.slot, ahead.generation);
      ++record.predecessors;
    }
  }
  if (one.labelled) {
    std::size_t const bytes = std::strlen(side.label.data());
    record.label_bytes = static_cast<std::uint8_t>(bytes);
    std::size_t const used = (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    std::memcpy(words.data() + size, side.label.data(), used * sizeof(std::uint64_t));
    size += used;
  }
  record.head =
      head_of(end == traced_end::unfinished ? record_kind::open_task : record_kind::task, size);
  std::memcpy(words.data(), &record, sizeof record);
  push({words.data(), size});
}

}  // namespace flotilla::dispatch
