// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/waiting/obstacle_resolver.hpp"

#include <utility>
#include <vector>

#include <flotilla/error/error.hpp>

namespace flotilla::flows {

namespace {

[[nodiscard]] std::string text_of(obstacle const& why) {
  return why.whose != nullptr ? why.whose->text() : std::string{"data that make room on a device"};
}

/// Says which data keep memory that the task would need.
[[nodiscard]] std::string text_of_divided(obstacle const& why) {
  if (why.divided_bytes == 0) { return {}; }
  return ", and data that are divided into tiles hold " + std::to_string(why.divided_bytes) +
         " bytes there, which cannot be evicted until the tiles have ended and a task has used " +
         "the whole data";
}

}  // namespace

void obstacle_resolver::destroy_unused(place where, bool all) {
  std::vector<block> unused;  // destroyed after the mutex is unlocked
  std::lock_guard const lock{mutex_};
  place_memory& memory = planner_.memory(where);
  if (all) { memory.give_up_all(); }
  unused = memory.take_given_up();
}

void obstacle_resolver::allocate(obstacle const& why) {
  bool const on_host = why.where.is_host();
  block made;
  auto const try_once = [&] {
    using places = detail::allocation::places;
    made.owned = detail::allocation{owner_, on_host ? places::pinned_host : places::device,
                                    on_host ? device_ordinal{0} : why.where.device(),
                                    block_cache::rounded(why.bytes)};
    made.address = made.owned.range().address();
    made.reach = detail::kernel_reach::peers;
  };
  destroy_unused(why.where, false);
  try {
    try_once();
  } catch (driver_error const& failed) {
    if (failed.status() != driver_status::out_of_memory) { throw; }
    auto const with_names = [&](driver_error const& of) {
      return driver_error(of.status(), of.call(),
                          of.subject() + ", " + task_.text() + ": " + text_of(why) + " need " +
                              std::to_string(why.bytes) + " bytes there");
    };
    if (!on_host) {
      no_memory_ = std::make_exception_ptr(with_names(failed));
      std::lock_guard const lock{mutex_};
      planner_.memory(why.where).set_full();
      return;
    }
    destroy_unused(why.where, true);
    try {
      try_once();
    } catch (driver_error const& again) { throw with_names(again); }
  }
  std::lock_guard const lock{mutex_};
  planner_.memory(why.where).add(why.bytes, std::move(made));
}

void obstacle_resolver::lift_limit(obstacle const& why) {
  std::lock_guard const lock{mutex_};
  place_memory& memory = planner_.memory(why.where);
  memory.lift_full();
  // All data were evicted that could be. So if the task fits, the limit was an estimate
  // (`set_full`). If this submit has already failed to allocate memory, the next try is the last.
  if (why.bytes + why.divided_bytes <= memory.limit()) {
    bool const was_last = no_memory_ != nullptr && std::exchange(is_last_try_, true);
    if (was_last) { std::rethrow_exception(no_memory_); }
    return;
  }
  throw driver_error(driver_status::out_of_memory, "flow::submit",
                     "device " + std::to_string(why.where.device().value) + ", " + task_.text() +
                         ": its data need " + std::to_string(why.bytes) +
                         " bytes there, but flow_options::memory_limit is " +
                         std::to_string(memory.limit()) + " bytes" + text_of_divided(why) + " (" +
                         text_of(why) + " have no memory)");
}

void obstacle_resolver::wait_for_slot(place where) const {
  // Wait for a free slot, and give it back: the next try takes it, unless another thread is faster.
  dispatch::place const& to =
      where.is_host() ? runtime_.places.shared() : runtime_.places[where.device().value];
  dispatch::slot_address const slot =
      where.is_host()
          ? runtime_.slots.take_for_host_task()
          : runtime_.slots.take(to, runtime_.places.inbox_to(to, 0), dispatch::when_full::wait);
  to.slots.give_back(slot);
}

void obstacle_resolver::resolve(obstacle const& why) {
  switch (why.kind) {
    case obstacle::kinds::none: return;
    case obstacle::kinds::no_memory: return allocate(why);
    case obstacle::kinds::too_large: return lift_limit(why);
    case obstacle::kinds::window_full: return wait_for_slot(why.where);
  }
}

}  // namespace flotilla::flows
