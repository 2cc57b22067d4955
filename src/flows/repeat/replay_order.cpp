// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/repeat/replay_order.hpp"

#include <unordered_set>
#include <utility>

namespace flotilla::flows {

using detail::access_mode;

/// Collects the predecessors of an iteration. Joins them if they become too many for one task.
class replay_order::predecessors {
 public:
  explicit predecessors(data_mover& mover) noexcept : mover_(mover) {}

  void add_reader(replica const& of) {
    mover_.add_writer(of, seen_.insert(&of).second ? options_.after : options_.after_end);
  }
  /// @param needs_contents  Whether the step also reads what it overwrites.
  void add_writer(replica const& of, bool needs_contents) {
    // A copy that the iteration writes first is valid afterwards, even if its contents were lost.
    bool const matters = seen_.insert(&of).second && needs_contents;
    mover_.add_writer(of, matters ? options_.after : options_.after_end);
    static_cast<void>(mover_.add_users(of, options_.after_end));
  }
  [[nodiscard]] bool are_many() const noexcept {
    constexpr std::size_t many = 512;
    return options_.after.size() + options_.after_end.size() > many;
  }
  /// Submits a task that runs after them, and replaces them by this task.
  [[nodiscard]] bool join(ticket& made) {
    ticket next;
    if (!mover_.submit_nothing(options_, next)) { return false; }
    options_ = {};
    options_.after.add(next);
    made = std::move(next);
    return true;
  }

 private:
  data_mover& mover_;
  task_options options_;
  std::unordered_set<replica const*> seen_;
};

obstacle replay_order::submit_join(ticket& made) {
  constexpr obstacle full{.kind = obstacle::kinds::window_full, .where = place::host()};
  predecessors all{mover_};
  ticket last;  // `made` stays invalid until all predecessors are joined
  for (iteration_step const& each : steps_) {
    if (each.copy) {
      all.add_reader(each.copy->which->at(each.copy->from));
      all.add_writer(each.copy->which->at(each.copy->to), false);
    }
    for (detail::datum_use const& use : each.uses) {
      replica const& here = use.what->at(each.where);
      if (use.mode == access_mode::read) {
        all.add_reader(here);
      } else {
        all.add_writer(here, needs_contents(use.mode));
      }
    }
    if (all.are_many() && !all.join(last)) { return full; }
  }
  if (!all.join(last)) { return full; }
  made = std::move(last);
  return {};
}

void replay_order::reserve() {
  for (iteration_step const& each : steps_) {
    if (each.copy) { mover_.reserve_user(each.copy->which->at(each.copy->from)); }
    for (detail::datum_use const& use : each.uses) {
      if (use.mode == access_mode::read) { mover_.reserve_user(use.what->at(each.where)); }
    }
  }
}

void replay_order::commit(writer& last, std::size_t count) noexcept {
  auto const add_user = [&](replica& to) {
    // `reserve` has made room for one user of each replica.
    bool const is_user = !to.users.empty() && to.users.back().slot == last.task.slot &&
                         to.users.back().generation == last.task.generation;
    if (!is_user) { to.users.push_back(last.task); }
  };
  for (iteration_step const& each : steps_) {
    if (each.copy) {
      copy_step const& copy = *each.copy;
      mover_.count(copy.from, copy.to, count * copy.which->bytes);
      add_user(copy.which->at(copy.from));
      mover_.note_copied(copy.which->at(copy.to), last);
      continue;
    }
    for (detail::datum_use const& use : each.uses) {
      if (use.mode == access_mode::read) {
        add_user(use.what->at(each.where));
      } else {
        order_.mark_written(*use.what, each.where, &last);
      }
    }
  }
}

}  // namespace flotilla::flows
