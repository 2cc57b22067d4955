// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/submission/submitter.hpp"

#include <string>
#include <type_traits>
#include <utility>

#include <flotilla/error/error.hpp>

#include "dispatch/submission/slot_encoding.hpp"
#include "dispatch/submission/task_watches.hpp"
#include "dispatch/waiting/wait_predictor.hpp"

namespace flotilla::dispatch {

namespace {

// The device that the arguments of a task require.
std::optional<device_ordinal> required_by(launch const& what) noexcept { return what.device(); }
std::optional<device_ordinal> required_by(detail::memory_command const& what) noexcept {
  return what.device;
}
std::optional<device_ordinal> required_by(callable const&) noexcept { return std::nullopt; }
std::optional<device_ordinal> required_by(detail::event_command const&) noexcept {
  return device_ordinal{0};
}

// Whether the task of a bulk consists of records that bulk_submitter has written.
template <class What>
constexpr bool is_recorded =
    std::is_same_v<What, recorded_item const> || std::is_same_v<What, chunk_of_items const>;

[[gnu::always_inline]] inline bool uses_all_lines(slot const& task) noexcept {
  return task.dependencies != 0 || task.kind != task_kind::launch;
}

}  // namespace

submitter::submitter(config const& with) noexcept
    : owner_(with.owner),
      usage_(with.usage),
      valid_(with.valid),
      places_(with.places),
      slots_(with.slots),
      reclaimer_(with.shared.reclaimer),
      tasks_(with.shared.tasks),
      posted_(with.shared.posted),
      placement_(with.placement),
      infos_(with.infos),
      predicts_waits_(!with.shared.single_threaded),
      observed_(with.checks != nullptr),
      checks_(with.checks),
      trace_(with.shared.trace),
      lost_(with.shared.lost),
      overdue_(with.shared.overdue) {}

void submitter::refuse_quarantined(place const& to) const {
  if (to.inbound != nullptr && lost_.is_quarantined(to.index)) {
    std::rethrow_exception(lost_.failure_of(to.index)->error);
  }
  if (lost_.are_all_quarantined()) { std::rethrow_exception(lost_.failure_of(0)->error); }
}

place const& submitter::choose_freely(task_options const& options) const {
  auto const chosen = place_freely(options);
  return chosen ? places_[chosen->value] : places_.any();
}

std::optional<device_ordinal> submitter::place_freely(task_options const& options) const {
  if (placement_ == nullptr) { return std::nullopt; }
  auto const chosen = placement_->place(infos_, options);
  if (chosen) { static_cast<void>(valid_.checked(*chosen)); }
  return chosen;
}

std::optional<device_ordinal> submitter::place_freely(task_options const& options,
                                                      std::span<data_access const> accesses) const {
  auto const chosen = placement_->place_with_data(infos_, options, accesses);
  if (chosen) { static_cast<void>(valid_.checked(*chosen)); }
  return chosen;
}

template <class What>
void submitter::observe(What const& what, task_options const& options, place const& to,
                        slot_address slot, bool by_flow) const {
  if constexpr (!is_recorded<What const>) {
    if (checks_ != nullptr) {
      if constexpr (std::is_same_v<What, launch>) {
        checks_->check_arguments(what, options.label,
                                 to.inbound == nullptr ? std::nullopt : std::optional{to.index});
      }
      checks_->check_order(what, options, checked_name(slot), callables_inside(), by_flow);
    }
  }
  if (trace_.active()) { trace_.note_submit(slot); }
}

template <class What, class Options, class Source>
[[gnu::always_inline]] inline bool submitter::submit_to(What& what, Options const& options,
                                                        ticket* ticket,
                                                        Source const& source) const {
  usage_.check_usable();
  if constexpr (is_recorded<What>) {
    // bulk_submitter has checked the records and the options
  } else if constexpr (std::is_same_v<What, callable>) {
    valid_.check(what, options.device, options.label);
  } else {
    valid_.check(what, options.device);
  }
  if constexpr (std::is_same_v<Options, task_options>) { validation::check_rank(options); }
  // A flow has checked the predecessors that the program names, and adds valid ones, but these may
  // be too many.
  constexpr std::size_t unchecked = keeps_failure<Options> ? validation::max_dependencies : 0;
  if (!is_recorded<What> && options.after.size() + options.after_end.size() > unchecked) {
    valid_.check_predecessors(options.after.ids(), options.after_end.ids());
  }
  place const& to = [&]() -> place const& {
    if constexpr (is_recorded<What>) {
      return source.to;
    } else {
      return choose(options, required_by(what));
    }
  }();
  if (lost_.is_any_quarantined()) [[unlikely]] { refuse_quarantined(to); }
  priority_level const level = level_of_priority(options.priority);
  // Calls that may throw come before open_slot, because every open task must reach a queue.
  inbox& inbox = places_.inbox_to(to, level);
  slot_address const address = source.take(to, inbox);
  if (address == no_slot) { return false; }
  slot& task = to.slots[address & 0xffff];
  slot_side& side = to.slots.side(address & 0xffff);
  try {
    if (observed_.load(std::memory_order_relaxed)) [[unlikely]] {
      // Most tasks of a sampled trace are not chosen, and need no call.
      if (checks_ != nullptr || trace_.will_choose(task, address)) {
        observe(what, full(options), to, address, keeps_failure<Options>);
      }
    }
    std::uint64_t const epoch = [&] {
      if constexpr (is_recorded<What>) {
        return what.epoch;
      } else {
        return reclaimer_.epoch();
      }
    }();
    encode(task, side, what, options, level, epoch);
    inbox.slots().expect_all_lines(uses_all_lines(task));
  } catch (...) {
    withdraw(address);
    source.give_back(to, address);
    throw;
  }
  constexpr bool is_item = requires { source.open(task, side, address, to.device()); };
  std::uint64_t generation = 0;
  if constexpr (is_item) {
    generation = source.open(task, side, address, to.device());
  } else {
    generation = open_slot(task, address, to.device(), owner_, ticket, keeps_failure<Options>,
                           keeps_failure<Options>);
    if constexpr (keeps_failure<Options>) { options.opened = {owner_.number, address, generation}; }
  }
  watch(overdue_, task, side, address, generation, options);
  if constexpr (is_item) {
    // It has no ticket, and its bulk receives its error.
  } else if (ticket == nullptr) {
    posted_.expect();
  } else {
    bool const will_wait =
        wait_predictor::of_this_thread().on_submit(owner_.number, address, generation);
    if (will_wait && to.inbound != nullptr && predicts_waits_) { to.inbound->expect_waiter(); }
  }
  if constexpr (std::is_same_v<What, chunk_of_items const>) { inbox.expect_chunks(); }
  inbox.push(address);
  to.announce();
  if constexpr (!is_item) {
    if (ticket == nullptr) { posted_.note_open(); }
  }
  return true;
}

template <class What, class Options>
bool submitter::submit(What& what, Options const& options, when_full if_full,
                       ticket* ticket) const {
  struct window_slots {
    slot_taker const& slots;
    when_full if_full;
    [[nodiscard]] slot_address take(place const& to, inbox& inbox) const {
      return slots.take(to, inbox, if_full);
    }
    void give_back(place const& to, slot_address slot) const noexcept { to.slots.give_back(slot); }
  };
  return submit_to(what, options, ticket, window_slots{slots_, if_full});
}

template bool submitter::submit(launch const&, task_options const&, when_full, ticket*) const;
template bool submitter::submit(launch const&, flow_task_options const&, when_full, ticket*) const;
template bool submitter::submit(detail::memory_command const&, task_options const&, when_full,
                                ticket*) const;
template bool submitter::submit(detail::memory_command const&, flow_task_options const&, when_full,
                                ticket*) const;
template bool submitter::submit(callable&, task_options const&, when_full, ticket*) const;
template bool submitter::submit(callable&, flow_task_options const&, when_full, ticket*) const;
template bool submitter::submit(launch const&, device_option const&, when_full, ticket*) const;
template bool submitter::submit(launch const&, order_options const&, when_full, ticket*) const;
template bool submitter::submit(detail::event_command const&, task_options const&, when_full,
                                ticket*) const;

/// Takes slots for the tasks of a bulk.
struct submitter::slots_of_bulk {
  slot_taker const& slots;
  bulk& in;
  std::size_t index;
  [[nodiscard]] slot_address take(place const& from, inbox& inbox) const {
    in.reserve_task();
    return slots.take(from, inbox, when_full::wait);
  }
  void give_back(place const& from, slot_address slot) const noexcept {
    from.slots.give_back(slot);
  }
  std::uint64_t open(slot& task, slot_side& side, slot_address address,
                     std::uint32_t device) const noexcept {
    side.counted_in = &in;
    side.index_in_bulk = index;
    std::uint64_t const generation = open_counted(task, device);
    in.add_task({address, static_cast<std::uint32_t>(generation)});
    return generation;
  }
};

template <class What>
void submitter::submit_item(What const& what, task_options const& options, bulk& in,
                            std::size_t index) const {
  submit_to(what, options, nullptr, slots_of_bulk{slots_, in, index});
}

template <class What>
void submitter::submit_records(What const& what, task_options const& options, place const& to,
                               bulk& in, std::size_t index) const {
  struct slots_of_place : slots_of_bulk {
    place const& to;
  };
  submit_to(what, options, nullptr, slots_of_place{{slots_, in, index}, to});
}

template void submitter::submit_records(recorded_item const&, task_options const&, place const&,
                                        bulk&, std::size_t) const;
template void submitter::submit_records(chunk_of_items const&, task_options const&, place const&,
                                        bulk&, std::size_t) const;

template void submitter::submit_item(launch const&, task_options const&, bulk&, std::size_t) const;
template void submitter::submit_item(detail::memory_command const&, task_options const&, bulk&,
                                     std::size_t) const;

}  // namespace flotilla::dispatch
