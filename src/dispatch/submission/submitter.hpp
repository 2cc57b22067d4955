// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a described task into a slot, and pushes the slot into a queue.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <flotilla/device/device.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/task/placement.hpp>
#include <flotilla/task/ticket.hpp>

#include "dispatch/check/submit_checks.hpp"
#include "dispatch/fault/usage_guard.hpp"
#include "dispatch/recording/replayed_part.hpp"
#include "dispatch/submission/option_types.hpp"
#include "dispatch/submission/slot_taker.hpp"
#include "dispatch/submission/validation.hpp"

namespace flotilla::dispatch {

/// Threads: any.
class submitter {
 public:
  struct config {
    runtime_parts const& shared;
    detail::runtime_impl& owner;
    usage_guard const& usage;
    validation const& valid;
    place_table const& places;
    slot_taker const& slots;
    std::span<device const> infos;
    flotilla::placement* placement;  // null: any device
    submit_checks* checks;           // null: no checks
  };
  explicit submitter(config const& with) noexcept;

  /// Submits a task. Returns false if the window is full and the call gives up.
  /// @param what      A const launch, memory_command or event_command; or a callable, which is
  /// moved into the slot.
  /// @param options   A task_options or flow_task_options. For a launch also device_option or
  /// order_options.
  /// @param ticket    Receives the ticket. If null, the task is posted. The ticket is not the
  /// return value, because returning it through memory caused a store-forwarding stall
  /// (docs/results/h200-submit.txt).
  /// @throws the exceptions of runtime::submit
  template <class What, class Options = task_options>
  bool submit(What& what, Options const& options, when_full if_full, ticket* ticket) const;

  // ---- for bulks ----

  /// Submits an item of a bulk like `submit`, but without a ticket. The item is counted in `in`.
  /// @param what  A launch or a memory_command.
  template <class What>
  void submit_item(What const& what, task_options const& options, bulk& in,
                   std::size_t index) const;
  /// Submits a task of a bulk to a place. The task must be valid.
  /// @param what   A recorded_item or a chunk_of_items.
  /// @param index  The index of the task's first item in the bulk.
  template <class What>
  void submit_records(What const& what, task_options const& options, place const& to, bulk& in,
                      std::size_t index) const;
  /// Returns whether a placement of the application chooses devices.
  [[nodiscard]] bool has_placement() const noexcept { return placement_ != nullptr; }
  /// Asks the placement of the application for a device. Empty if it chooses none, or there is
  /// none.
  [[nodiscard]] std::optional<device_ordinal> place_freely(task_options const& options) const;
  /// The same for a task of a flow. A placement must exist.
  [[nodiscard]] std::optional<device_ordinal> place_freely(
      task_options const& options, std::span<data_access const> accesses) const;
  /// Chooses the place for a task.
  /// @param required  The device that the task's arguments require, if any.
  template <class Options>
  [[nodiscard]] place const& choose(Options const& options,
                                    std::optional<device_ordinal> required) const {
    if (options.device) { return places_[options.device->value]; }
    if (required) { return places_[required->value]; }
    return placement_ == nullptr ? places_.any() : choose_freely(full(options));
  }

  // ---- for several tasks: take all slots, then fill all, open all, and publish all ----

  void fill(slot_address slot, replayed_part const& what, task_options const& options) const;
  /// Returns the id that the task will have after `open`.
  [[nodiscard]] task_id id_when_open(slot_address slot) const noexcept;
  /// Opens the slot. Afterwards the caller must publish it.
  /// @param ticket         Receives the ticket. If null, the task is posted.
  /// @param keeps_failure  See generation_word.
  /// @param deadline       Must be the one that `fill` got.
  void open(slot_address slot, unsigned device, ticket* ticket, bool keeps_failure,
            std::chrono::steady_clock::time_point deadline) const noexcept;
  void publish(slot_address slot, unsigned device) const;

  /// Says whether the runtime makes checks or writes a trace.
  void observe(bool tasks) noexcept { observed_.store(tasks, std::memory_order_relaxed); }

  // ---- for the checks ----

  /// Returns the name that the task will have after it is opened.
  [[nodiscard]] task_name checked_name(slot_address slot) const noexcept;
  /// Returns the callables of this runtime in which the calling thread is.
  [[nodiscard]] std::vector<task_name> callables_inside() const;

 private:
  /// The implementation of `submit` and `submit_item`.
  /// @param source  Has `take(place, inbox)`, which returns a slot or no_slot, and
  /// `give_back(place, slot)`, if the task is refused after all. The source of an item also has
  /// `open(task, side, slot, device)`, which opens the slot.
  /// @return false if `take` returned no_slot.
  template <class What, class Options, class Source>
  bool submit_to(What& what, Options const& options, ticket* ticket, Source const& source) const;
  struct slots_of_bulk;

  /// Asks the placement for the place of a task that may run on any device.
  [[nodiscard]] place const& choose_freely(task_options const& options) const;

  /// Throws if the place is a quarantined device, or if all devices are quarantined.
  [[gnu::noinline]] void refuse_quarantined(place const& to) const;

  /// Makes the checks of the runtime, and notes the task for a trace. Not inline, because most
  /// programs never call it.
  /// @param by_flow  Whether a flow submits the task.
  template <class What>
  [[gnu::noinline]] void observe(What const& what, task_options const& options, place const& to,
                                 slot_address slot, bool by_flow) const;

  /// Takes back what `observe` has noted, because the task is refused after all.
  void withdraw(slot_address slot) const;

  // These members are adjacent in memory, because every submit reads all of them.
  detail::runtime_impl& owner_;
  usage_guard const& usage_;
  validation const& valid_;
  place_table const& places_;
  slot_taker const& slots_;
  epoch_reclaimer const& reclaimer_;
  task_table const& tasks_;
  posted_errors& posted_;
  placement* const placement_;
  std::span<device const> const infos_;
  bool const predicts_waits_;  // false in single-threaded mode
  std::atomic<bool> observed_;
  submit_checks* const checks_;
  tracer& trace_;
  lost_devices const& lost_;
  overdue_tasks& overdue_;  // only for tasks with a deadline or a stop token
};

}  // namespace flotilla::dispatch
