#pragma once
// What a submitter writes into its slot before anybody else sees it: what is to be done, and how. In a header, for that
// is half of what a submit costs.

#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <flotilla/launch.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/transfer.hpp>
#include <flotilla/work.hpp>

#include "context/lease.hpp"
#include "dispatch/recorded_part.hpp"
#include "dispatch/slot.hpp"
#include "dispatch/slot_pool.hpp"

namespace flotilla::dispatch {

inline void put_in(slot& made, slot_side& beside, launch const& what) {
  made.kind = task_kind::launch;
  made.kernel = what.kernel_index();
  made.shared_bytes = what.dynamic_shared_bytes();
  extent const grid = what.grid();
  made.grid[0] = grid.x;
  made.grid[1] = grid.y;
  made.grid[2] = grid.z;
  extent const block = what.block();
  made.block[0] = static_cast<std::uint16_t>(block.x);
  made.block[1] = static_cast<std::uint16_t>(block.y);
  made.block[2] = static_cast<std::uint16_t>(block.z);
  std::size_t const bytes = what.argument_bytes();
  made.argument_bytes = static_cast<std::uint16_t>(bytes);
  if (bytes == 0) { return; }
  made.large = bytes > slot::inline_bytes;
  std::byte* into = made.bytes;
  if (made.large) {
    // Kept with the slot from then on: a slot that once needed it does not allocate again.
    if (beside.arguments == nullptr) { beside.arguments = std::make_unique<std::byte[]>(launch::most_bytes); }
    into = beside.arguments.get();
  }
  std::memcpy(into, what.arguments(), bytes);
}

inline void put_in(slot& made, slot_side&, transfer const& what) noexcept {
  static_assert(sizeof(transfer) <= slot::inline_bytes);
  made.kind = task_kind::transfer;
  ::new (static_cast<void*>(made.bytes)) transfer(what);
}

inline void put_in(slot& made, slot_side&, replayed_part const& what) noexcept {
  static_assert(sizeof(replayed_part) <= slot::inline_bytes);
  made.kind = task_kind::recorded;
  ::new (static_cast<void*>(made.bytes)) replayed_part(what);
}

inline void put_in(slot& made, slot_side&, work& what) noexcept {
  static_assert(sizeof(work) <= slot::inline_bytes);
  made.kind = task_kind::work;
  ::new (static_cast<void*>(made.bytes)) work(std::move(what));
  made.holds_work = true;
}

inline void put_after(slot& made, slot_side& beside, dependency_list const& after) {
  std::size_t const count = after.size();
  made.dependencies = static_cast<std::uint16_t>(count);
  if (count > slot::inline_dependencies) { beside.more_dependencies.clear(); }
  for (std::size_t i = 0; i < count; ++i) {
    task_id const ahead = after[i];
    if (i < slot::inline_dependencies) {
      made.after_slot[i] = ahead.slot;
      made.after_generation[i] = static_cast<std::uint32_t>(ahead.generation);
    } else {
      beside.more_dependencies.push_back({ahead.slot, static_cast<std::uint32_t>(ahead.generation)});
    }
  }
}

/// All of a task but the words that `core::open` writes. What throws leaves `what` as it was, and the slot to be given back.
/// @param what   A launch, a transfer, a part of a recording, or a callable, which is moved from.
/// @param epoch  The limbo's, read before.
template <class What>
inline void fill_slot(slot& made, slot_side& beside, What& what, task_options const& options, urgency level,
                      std::uint64_t epoch) {
  made.batch = options.batch;
  made.level = level;
  made.large = false;
  made.holds_work = false;
  made.submitter = static_cast<std::uint32_t>(context::this_thread_token());
  made.wanted.store(0, std::memory_order_relaxed);
  made.parked_on.store(0, std::memory_order_relaxed);
  made.staged.store(0, std::memory_order_relaxed);
  made.epoch.store(epoch, std::memory_order_relaxed);
  made.labelled = !options.label.empty();
  if (made.labelled) { beside.set_label(options.label); }
  put_after(made, beside, options.after);
  put_in(made, beside, what);
}

}  // namespace flotilla::dispatch
