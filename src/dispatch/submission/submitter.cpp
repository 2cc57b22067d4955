// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/submission/submitter.hpp"

#include <type_traits>

#include "dispatch/submission/slot_encoding.hpp"
#include "dispatch/task/callable_frame.hpp"
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
      checks_(with.checks) {}

inline place const& submitter::choose(task_options const& options,
                                      std::optional<device_ordinal> required) const {
  if (options.device) { return places_[options.device->value]; }
  if (required) { return places_[required->value]; }
  if (placement_ != nullptr) {
    if (auto const chosen = placement_->place(infos_, options)) {
      return places_[valid_.checked(*chosen)];
    }
  }
  return infos_.size() == 1 ? places_[0] : places_.shared();
}

template <class What>
void submitter::run_checks(What const& what, task_options const& options, place const& to,
                           slot_address slot) const {
  if constexpr (std::is_same_v<What, launch>) {
    checks_->check_arguments(what, options.label,
                             to.inbound == nullptr ? std::nullopt : std::optional{to.index});
  }
  checks_->check_order(what, options, checked_name(slot), callables_inside());
}

task_name submitter::checked_name(slot_address slot) const noexcept {
  task_id const id = id_when_open(slot);
  return {id.slot, id.generation};
}

std::vector<task_name> submitter::callables_inside() const {
  std::vector<task_name> made;
  for (auto const* each = callable_frame::innermost(owner_.number); each != nullptr;
       each = each->next()) {
    generation_word const word{tasks_.at(each->task()).generation.load(std::memory_order_relaxed)};
    made.push_back({each->task(), word.generation()});
  }
  return made;
}

template <class What>
bool submitter::submit(What& what, task_options const& options, bool may_wait,
                       ticket* ticket) const {
  usage_.check_usable();
  if constexpr (std::is_same_v<What, callable>) {
    valid_.check(what, options.device, options.label);
  } else {
    valid_.check(what, options.device);
  }
  if (options.after.size() != 0) { valid_.check_after(options.after); }
  place const& to = choose(options, required_by(what));
  priority_level const level = level_of_priority(options.priority);
  // Calls that may throw come before open_slot, because every open task must reach a queue.
  inbox& inbox = places_.inbox_to(to, level);
  slot_address const address = slots_.take(to, inbox, may_wait);
  if (address == no_slot) { return false; }
  slot& task = to.slots[address & 0xffff];
  try {
    if (checks_ != nullptr) [[unlikely]] { run_checks(what, options, to, address); }
    encode(task, to.slots.side(address & 0xffff), what, options, level, reclaimer_.epoch());
  } catch (...) {
    if (checks_ != nullptr) { checks_->withdraw(checked_name(address)); }
    to.slots.give_back(address);
    throw;
  }
  std::uint64_t const generation = open_slot(task, address, to.device(), owner_, ticket);
  if (ticket == nullptr) {
    posted_.expect();
  } else {
    bool const will_wait =
        wait_predictor::of_this_thread().on_submit(owner_.number, address, generation);
    if (will_wait && to.inbound != nullptr && predicts_waits_) { to.inbound->expect_waiter(); }
  }
  inbox.push(address);
  to.announce();
  return true;
}

template bool submitter::submit(launch const&, task_options const&, bool, ticket*) const;
template bool submitter::submit(detail::memory_command const&, task_options const&, bool,
                                ticket*) const;
template bool submitter::submit(callable&, task_options const&, bool, ticket*) const;
template bool submitter::submit(detail::event_command const&, task_options const&, bool,
                                ticket*) const;

void submitter::fill(slot_address slot, replayed_part const& what,
                     task_options const& options) const {
  encode(tasks_.at(slot), tasks_.side(slot), what, options, level_of_priority(options.priority),
         reclaimer_.epoch());
}

task_id submitter::id_when_open(slot_address slot) const noexcept {
  generation_word const word{tasks_.at(slot).generation.load(std::memory_order_relaxed)};
  return {owner_.number, slot, word.generation() + 1};
}

void submitter::open(slot_address slot, unsigned device, ticket& ticket) const noexcept {
  open_slot(tasks_.at(slot), slot, device + 1, owner_, &ticket);
}

void submitter::publish(slot_address slot, unsigned device) const {
  place const& to = places_[device];
  places_.inbox_to(to, tasks_.at(slot).level).push(slot);
  to.announce();
}

}  // namespace flotilla::dispatch
