// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model of task_planner, data_mover and evictor: the tasks of a flow and their predecessors.

#include <array>
#include <optional>
#include <vector>

namespace flotilla::test {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw {
  none,
  forgets_users,         // a task that overwrites memory does not wait for its readers
  forgets_writer,        // a task that overwrites memory does not wait for its last writer
  strict_users,          // a task that overwrites memory fails if a reader has failed
  strict_healer,         // a task that only writes fails if the last writer has failed
  lenient_update,        // a task that updates runs although the last writer has failed
  keeps_others_valid,    // a task that writes leaves the other copies valid
  copy_forgets_source,   // a copy does not wait for the writer of its source
  copy_is_no_reader,     // a writer does not wait for copies that read its memory
  copy_forgets_readers,  // a copy does not wait for the readers of the memory that it fills
  new_data_do_not_wait,  // data in memory of other data do not wait for their tasks
  ends_early,            // a task that does not run ends before all of its predecessors have ended
  evicts_without_copy,   // the only valid copy is evicted and not copied to the host before
  evict_forgets_users,   // the next data in the memory do not wait for readers of evicted data
  evict_forgets_writer,  // they do not wait for the writer of evicted data
  last_of_commuting,     // a task waits only for the last of the tasks that commute
  commutes_with_reader,  // tasks on both sides of a reader commute
  lenient_commuting,     // a task that commutes runs although the last writer has failed
  evict_forgets_commuting,
};

enum class kinds { read, write, update, commute, evict, renew };
constexpr std::array all_kinds{kinds::read,    kinds::write, kinds::update,
                               kinds::commute, kinds::evict, kinds::renew};
constexpr int places = 3;

/// One step of a program: a task at a place, or one of two others:
/// `evict`  the copy at the place is evicted, as if other data needed the memory. Place 0 is the
///          host.
/// `renew`  the data end, and new data without contents get their memory.
struct step {
  kinds kind;
  int place;
};

struct planned_task {
  int step = -1;                         // -1: a copy
  std::optional<int> reads{}, writes{};  // places
  std::vector<int> strict{}, weak{};     // predecessors: after, after_end
  int turn = 0;                          // tasks with the same turn, if it is not 0, commute
};

struct model_replica {
  bool is_valid = false;
  std::optional<int> filled{};
  std::vector<int> users{}, last_users{};
  std::vector<int> commuting{};
  int turn = 0;
};

class planner_model {
 public:
  explicit planner_model(flaw with) : with_(with) {
    replicas_[0].is_valid = true;  // the memory of the application
  }

  void submit(int index, step what) {
    if (what.kind == kinds::renew) { return renew(); }
    if (what.kind == kinds::evict) { return evict(what.place); }
    model_replica& here = replicas_[static_cast<std::size_t>(what.place)];
    if (what.kind != kinds::write && !here.is_valid) { copy_to(what.place); }
    if (what.kind == kinds::commute && may_commute(here)) { return commute(index, what.place); }
    planned_task made{.step = index};
    if (what.kind != kinds::write) { made.reads = what.place; }
    if (what.kind != kinds::read) { made.writes = what.place; }
    bool const needs_contents = what.kind == kinds::write    ? with_ == flaw::strict_healer
                                : what.kind == kinds::update ? with_ != flaw::lenient_update
                                                             : true;
    bool const waits = needs_contents || with_ != flaw::forgets_writer;
    bool const is_implied = what.kind == kinds::write && !needs_contents && imply_writer(here);
    if (waits && !is_implied) { add_writers(here, needs_contents ? made.strict : made.weak); }
    if (what.kind != kinds::read) { add_users(here, made); }
    int const task = add(made);
    if (what.kind == kinds::read) {
      here.users.push_back(task);
    } else {
      mark_written(what.place, task);
    }
  }
  [[nodiscard]] std::vector<planned_task> const& tasks() const { return tasks_; }

 private:
  int add(planned_task const& made) {
    tasks_.push_back(made);
    return static_cast<int>(tasks_.size()) - 1;
  }
  [[nodiscard]] bool may_commute(model_replica const& here) const {
    return (here.users.empty() || with_ == flaw::commutes_with_reader) && here.last_users.empty() &&
           here.commuting.size() < max_commuting;
  }
  void commute(int index, int place) {
    model_replica& here = replicas_[static_cast<std::size_t>(place)];
    if (here.commuting.empty()) { here.turn = ++last_turn_; }
    planned_task made{.step = index, .reads = place, .writes = place, .turn = here.turn};
    if (here.filled) {
      (with_ == flaw::lenient_commuting ? made.weak : made.strict).push_back(*here.filled);
    }
    here.commuting.push_back(add(made));
    for (model_replica& each : replicas_) { each.is_valid = &each == &here; }
  }
  /// Adds the tasks that have written the contents.
  void add_writers(model_replica const& which, std::vector<int>& list) const {
    if (which.commuting.empty()) {
      if (which.filled) { list.push_back(*which.filled); }
    } else if (with_ == flaw::last_of_commuting) {
      list.push_back(which.commuting.back());
    } else {
      list.insert(list.end(), which.commuting.begin(), which.commuting.end());
    }
  }
  /// Returns whether a task that waits for the users need not wait for the writer: users run after
  /// the writer, and do not end before it.
  [[nodiscard]] bool imply_writer(model_replica const& which) const {
    return with_ != flaw::forgets_users && !which.users.empty();
  }
  void add_users(model_replica const& which, planned_task& to) const {
    auto& list = with_ == flaw::strict_users ? to.strict : to.weak;
    if (with_ != flaw::forgets_users) {
      list.insert(list.end(), which.users.begin(), which.users.end());
    }
    if (with_ != flaw::new_data_do_not_wait) {
      list.insert(list.end(), which.last_users.begin(), which.last_users.end());
    }
  }
  void copy_to(int place) {
    int source = 0;
    while (source < places && !replicas_[static_cast<std::size_t>(source)].is_valid) { ++source; }
    if (source == places) { source = 1; }  // only with a flaw: garbage is copied
    model_replica& from = replicas_[static_cast<std::size_t>(source)];
    model_replica& to = replicas_[static_cast<std::size_t>(place)];
    planned_task made{.reads = source, .writes = place};
    if (with_ != flaw::copy_forgets_source) { add_writers(from, made.strict); }
    if (with_ != flaw::copy_forgets_readers) { add_users(to, made); }
    if (!imply_writer(to)) { add_writers(to, made.weak); }
    int const task = add(made);
    if (with_ != flaw::copy_is_no_reader) { from.users.push_back(task); }
    to = {.is_valid = true, .filled = task};
  }
  void mark_written(int place, int task) {
    if (with_ != flaw::keeps_others_valid) {
      for (model_replica& each : replicas_) { each.is_valid = false; }
    }
    replicas_[static_cast<std::size_t>(place)] = {.is_valid = true, .filled = task};
  }
  void evict(int place) {
    model_replica& which = replicas_[static_cast<std::size_t>(place)];
    bool elsewhere = false;
    for (int i = 0; i < places; ++i) {
      elsewhere = elsewhere || (i != place && replicas_[static_cast<std::size_t>(i)].is_valid);
    }
    if (which.is_valid && !elsewhere && with_ != flaw::evicts_without_copy) { copy_to(0); }
    if (with_ == flaw::evict_forgets_commuting) { which.commuting.clear(); }
    take_memory(which, with_ != flaw::evict_forgets_users, with_ != flaw::evict_forgets_writer);
  }
  void renew() {
    for (model_replica& each : replicas_) { take_memory(each, true, true); }
  }
  /// The replica loses its contents. The tasks that use its memory stay known.
  static void take_memory(model_replica& which, bool with_users, bool with_writer) {
    std::vector<int> users = which.last_users;
    if (with_users) { users.insert(users.end(), which.users.begin(), which.users.end()); }
    if (with_writer && which.filled) { users.push_back(*which.filled); }
    users.insert(users.end(), which.commuting.begin(), which.commuting.end());
    which = {.last_users = users};
  }

  static constexpr std::size_t max_commuting = 2;  // the library has more: replica::max_commuting
  flaw const with_;
  int last_turn_ = 0;
  std::array<model_replica, places> replicas_;
  std::vector<planned_task> tasks_;
};

}  // namespace flotilla::test
