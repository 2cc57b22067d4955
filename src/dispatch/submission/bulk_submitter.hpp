// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Submits many tasks that share one ticket.

#include <flotilla/task/bulk.hpp>

#include "dispatch/grid/chunk_limits.hpp"
#include "dispatch/submission/submitter.hpp"

namespace flotilla::dispatch {

/// Submits the items of flotilla::bulk. Each task of the bulk, which is an item or a chunk of
/// items, has no ticket. The ticket of the bulk, if it has one, names one more task, which no
/// device takes: task_end ends it when the last item has ended.
///
/// This task is opened after all items. Otherwise threads that submit bulks could fill the window
/// with such tasks, and wait forever for places for their items. Inside a callable, where no submit
/// waits, its slot is taken before the items, so that a full window is noticed before any item is
/// submitted. Threads: any.
class bulk_submitter {
 public:
  struct config {
    runtime_parts const& shared;
    detail::runtime_impl& owner;
    usage_guard const& usage;
    validation const& valid;
    place_table const& places;
    slot_taker const& slots;
    submitter const& tasks;
    submit_checks* checks;  // null: no checks
    device_set const& devices;
    waiter const& waits;
    chunk_limits const& limits;
  };
  explicit bulk_submitter(config const& with) noexcept : with_(with) {}

  /// @param ticket  Null: the bulk is posted.
  /// @throws the exceptions of flotilla::bulk
  void submit(detail::bulk_source const& items, task_options const& options, ticket* ticket) const;

 private:
  /// Takes a slot for the task that ends the bulk. @throws window_full
  [[nodiscard]] slot_address take_slot_of_end() const;
  /// Tells the order check that the task in the slot `end` runs after all items.
  void check_order(bulk& which, slot_address end) const;
  /// @param submitted  Receives the number of items that were submitted, even if the function
  /// throws.
  void submit_items(detail::bulk_source const& items, task_options const& options, bulk& to,
                    std::size_t& submitted) const;
  void arrive(bulk& which, std::size_t count) const;

  config const with_;
};

}  // namespace flotilla::dispatch
