// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a task into its slot, which no other thread uses at that time. The functions are inline
// because `submit` spends half of its time in them.

#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include <flotilla/detail/event_command.hpp>
#include <flotilla/detail/kernel_twin.hpp>
#include <flotilla/detail/memory_command.hpp>
#include <flotilla/kernel/launch.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/callable.hpp>

#include "base/access.hpp"
#include "context/lease.hpp"
#include "dispatch/recording/replayed_part.hpp"
#include "dispatch/submission/option_types.hpp"
#include "dispatch/task/chunk_command.hpp"
#include "dispatch/task/slot_pool.hpp"

namespace flotilla::dispatch {

/// Copies the arguments of a launch that fit into a slot. Most launches have few arguments, and
/// copies of constant size need no call. The copies may be larger than the arguments, because a
/// launch and a slot have room for slot::inline_bytes.
inline void copy_inline(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  static_assert(launch::inline_bytes == slot::inline_bytes);
  constexpr std::size_t part = 16;
  std::memcpy(to, from, part);
  if (bytes <= part) { return; }
  std::memcpy(to + part, from + part, part);
  if (bytes > 2 * part) { std::memcpy(to + 2 * part, from + 2 * part, bytes - 2 * part); }
}

/// Not inline, because few launches have so many arguments.
[[gnu::noinline]] inline void encode_large(slot& task, slot_side& side, launch const& what) {
  // Later tasks of this slot that have large arguments reuse the memory.
  if (side.argument_room < what.argument_bytes()) {
    std::size_t const room = launch::room_for(what.argument_bytes());
    side.arguments = std::make_unique<std::byte[]>(room);
    side.argument_room = static_cast<std::uint16_t>(room);
  }
  task.large = true;
  std::memcpy(side.arguments.get(), what.arguments(), what.argument_bytes());
}

inline void encode(slot& task, slot_side& side, launch const& what) {
  task.kind = task_kind::launch;
  task.kernel = detail::access::kernel_index(what);
  task.shared_bytes = what.dynamic_shared_bytes();
  extent const grid = what.grid();
  task.grid[0] = grid.x;
  task.grid[1] = grid.y;
  task.grid[2] = grid.z;
  extent const block = what.block();
  task.block[0] = static_cast<std::uint16_t>(block.x);
  task.block[1] = static_cast<std::uint16_t>(block.y);
  task.block[2] = static_cast<std::uint16_t>(block.z);
  task.attributed = detail::access::marks(what).is_attributed;
  if (task.attributed) [[unlikely]] {
    side.attributes = what.attributes();
    side.status_offset =
        what.has_task_status() ? detail::access::status_offset(what) : slot_side::no_status;
    task.batch = task.batch && !detail::access::marks(what).goes_alone;
  }
  std::size_t const bytes = what.argument_bytes();
  task.argument_bytes = static_cast<std::uint16_t>(bytes);
  if (bytes > slot::inline_bytes) [[unlikely]] { return encode_large(task, side, what); }
  copy_inline(task.bytes, static_cast<std::byte const*>(what.arguments()), bytes);
}

inline void encode(slot& task, slot_side&, detail::memory_command const& what) noexcept {
  static_assert(sizeof(detail::memory_command) <= slot::inline_bytes);
  task.kind = task_kind::memory_op;
  ::new (static_cast<void*>(task.bytes)) detail::memory_command(what);
}

inline void encode(slot& task, slot_side&, replayed_part const& what) noexcept {
  static_assert(sizeof(replayed_part) <= slot::inline_bytes);
  task.kind = task_kind::recorded;
  ::new (static_cast<void*>(task.bytes)) replayed_part(what);
}

inline void encode(slot& task, slot_side&, detail::event_command const& what) noexcept {
  task.kind = task_kind::event_wait;
  ::new (static_cast<void*>(task.bytes)) detail::event_command(what);
}

/// What the items of a chunk have in common.
struct chunk_form {
  std::uint32_t kernel = 0;
  extent block{};
  std::uint32_t shared_bytes = 0;
  std::uint32_t argument_bytes = 0;
  bool operator==(chunk_form const&) const = default;
};
inline void encode(slot& task, chunk_form const& what, extent const& grid) noexcept {
  task.kernel = what.kernel;
  task.shared_bytes = what.shared_bytes;
  task.grid[0] = grid.x;
  task.grid[1] = grid.y;
  task.grid[2] = grid.z;
  task.block[0] = static_cast<std::uint16_t>(what.block.x);
  task.block[1] = static_cast<std::uint16_t>(what.block.y);
  task.block[2] = static_cast<std::uint16_t>(what.block.z);
  task.attributed = false;
  task.argument_bytes = static_cast<std::uint16_t>(what.argument_bytes);
}

/// One item of a chunk that is submitted as a launch of its own.
struct recorded_item {
  chunk_form const& form;
  std::byte const* record;
  std::uint64_t epoch;  // when its record was written
};
inline void encode(slot& task, slot_side&, recorded_item const& what) noexcept {
  detail::twin_record head;
  std::memcpy(&head, what.record, sizeof head);
  task.kind = task_kind::launch;
  encode(task, what.form, {head.grid[0], head.grid[1], head.grid[2]});
  std::memcpy(task.bytes, what.record + sizeof head, what.form.argument_bytes);
}

struct chunk_of_items {
  chunk_form const& form;
  extent grid;  // of the first item
  chunk_command command;
  std::uint64_t epoch;  // when the first record was written
};
inline void encode(slot& task, slot_side&, chunk_of_items const& what) noexcept {
  task.kind = task_kind::chunk;
  encode(task, what.form, what.grid);
  ::new (static_cast<void*>(task.bytes)) chunk_command(what.command);
}

/// The task that a bulk's ticket names. It has no command, and no device takes it.
struct bulk_end_command {};
inline void encode(slot& task, slot_side&, bulk_end_command const&) noexcept {
  task.kind = task_kind::bulk_end;
}

/// A task that runs as a continuation. No device takes it.
struct host_command {};
inline void encode(slot& task, slot_side&, host_command const&) noexcept {
  task.kind = task_kind::host;
}

/// Moves the callable out of `what`.
inline void encode(slot& task, slot_side&, callable& what) noexcept {
  static_assert(sizeof(callable) <= slot::inline_bytes);
  task.kind = task_kind::callable;
  ::new (static_cast<void*>(task.bytes)) callable(std::move(what));
  task.holds_callable = true;
}

/// Stores the label, and reserves the memory of the task_watch.
inline void encode_rarities(slot& task, slot_side& side, task_options const& options) {
  task.labelled = !options.label.empty();
  if (task.labelled) { side.set_label(options.label); }
  // Later tasks of this slot reuse the memory.
  bool const is_watched = options.stop.stop_possible() || has_deadline(options);
  if (is_watched && side.watch == nullptr) { side.watch = std::make_unique<task_watch>(); }
}

/// Writes predecessor `i`. Call it for each `i` in order.
inline void encode_dependency(slot& task, slot_side& side, std::size_t i, task_id const& ahead) {
  if (i < slot::inline_dependencies) {
    task.after_slot[i] = ahead.slot;
    task.after_generation[i] = static_cast<std::uint32_t>(ahead.generation);
  } else {
    side.add_dependency(i - slot::inline_dependencies,
                        {ahead.slot, static_cast<std::uint32_t>(ahead.generation)});
  }
}

/// Writes the predecessors. Those whose failure does not matter come first.
inline void encode_dependencies(slot& task, slot_side& side, std::span<task_id const> after_end,
                                std::span<task_id const> after) {
  std::size_t const order_only = after_end.size();
  std::size_t const count = order_only + after.size();
  task.dependencies = static_cast<std::uint16_t>(count);
  task.has_order_only = order_only != 0;
  if (task.has_order_only) { side.order_only = static_cast<std::uint16_t>(order_only); }
  if (count > slot::inline_dependencies) {
    side.more_dependencies.clear();
    side.first_unstarted = 0;
  }
  std::size_t i = 0;
  for (task_id const& ahead : after_end) { encode_dependency(task, side, i++, ahead); }
  for (task_id const& ahead : after) { encode_dependency(task, side, i++, ahead); }
}

/// Writes the task into the slot, except the words that `open_slot` writes. If this function
/// throws, `what` is unchanged, and the caller must give the slot back.
/// @param what   A launch, a memory_command, a replayed_part, an event_command, a recorded_item or
/// a chunk_of_items; or a callable, which is moved into the slot.
/// @param options  A task_options, device_option or order_options.
/// @param epoch  The epoch of the epoch reclaimer when the program still had all that `what` uses.
template <class What, class Options>
inline void encode(slot& task, slot_side& side, What& what, Options const& options,
                   priority_level level, std::uint64_t epoch) {
  task.batch = options.batch;
  task.repeatable = options.repeatable;
  task.was_suspect = false;
  task.level = level;
  task.large = false;
  task.holds_callable = false;
  task.submitter = static_cast<std::uint32_t>(context::this_thread_token());
  task.demanded.store(0, std::memory_order_relaxed);
  task.parked_on.store(0, std::memory_order_relaxed);
  task.batched.store(0, std::memory_order_relaxed);
  task.epoch.store(epoch, std::memory_order_relaxed);
  task.starting.store(false,
                      std::memory_order_release);  // pairs with the acquire in request_cancel
  task.labelled = false;
  if (!options.label.empty() || options.stop.stop_possible() || has_deadline(options)) {
    encode_rarities(task, side, full(options));
  }
  if (options.after.size() == 0 && options.after_end.size() == 0) {
    task.dependencies = 0;
  } else {
    encode_dependencies(task, side, options.after_end.ids(), options.after.ids());
  }
  encode(task, side, what);
}

/// Returns the generation that the slot gets when its next task is opened, after the words that
/// `open_slot` and `open_counted` have in common were written.
inline std::uint64_t prepare_open(slot& task, std::uint32_t device) noexcept {
  task.device.store(device, std::memory_order_relaxed);
  std::uint64_t const generation =
      generation_word{task.generation.load(std::memory_order_relaxed)}.generation() + 1;
  task.end.store(0, std::memory_order_relaxed);
  task.successors.store(successor_word::of(generation, successor_word::none),
                        std::memory_order_relaxed);
  return generation;
}

/// Makes the task in the slot open, as a task of a bulk, which slot_side names already. The task
/// has no ticket.
/// @param device  1 + the device index; 0: any device.
/// @return the task's generation.
inline std::uint64_t open_counted(slot& task, std::uint32_t device) noexcept {
  std::uint64_t const generation = prepare_open(task, device);
  task.posted.store(false, std::memory_order_relaxed);
  // release: as in open_slot
  task.generation.store(generation_word::of(generation) | generation_word::no_ticket_bit |
                            generation_word::counted_bit,
                        std::memory_order_release);
  return generation;
}

/// Makes the task in the slot open.
/// @param device  1 + the device index; 0: any device.
/// @param ticket  Receives the task's ticket. If null, the task is posted.
/// @param keeps_failure, ends_late  See generation_word.
/// @return the task's generation.
inline std::uint64_t open_slot(slot& task, slot_address address, std::uint32_t device,
                               detail::runtime_impl& runtime, ticket* ticket,
                               bool keeps_failure = false, bool ends_late = false) noexcept {
  std::uint64_t const generation = prepare_open(task, device);
  // release: a thread that acquires the new generation sees the words of this task, and not the
  // words of the slot's previous task
  std::uint64_t const word = generation_word::of(generation) |
                             (keeps_failure ? generation_word::keeps_failure_bit : 0) |
                             (ends_late ? generation_word::ends_late_bit : 0);
  if (ticket == nullptr) {
    task.posted.store(true, std::memory_order_relaxed);
    task.generation.store(word | generation_word::no_ticket_bit, std::memory_order_release);
    return generation;
  }
  task.posted.store(false, std::memory_order_relaxed);
  task.generation.store(word, std::memory_order_release);
  detail::access::set(*ticket, runtime, address, generation, device);
  return generation;
}

}  // namespace flotilla::dispatch
