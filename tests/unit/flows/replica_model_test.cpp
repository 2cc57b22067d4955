// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The protocol by which a flow keeps the copies of data valid. Checks all short sequences of tasks
// at three places, with all combinations of failures: a task must run exactly if it would run in a
// serial program, must see the same version of the data, and must have an order with every task
// that uses the same memory, if one of them writes it.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "support/scale.hpp"
#include "unit/flows/replica_model.hpp"

namespace flotilla::test {
namespace {

/// What happens to the tasks if some of them fail.
class run_model {
 public:
  /// @param failing  Bit i: the task of step i fails if it runs.
  run_model(std::vector<planned_task> const& tasks, unsigned failing, flaw with)
      : with_(with),
        tasks_(tasks),
        runs_(tasks.size()),
        fails_(tasks.size()),
        before_(tasks.size()) {
    for (std::size_t i = 0; i < tasks.size(); ++i) { run(i, failing); }
  }
  [[nodiscard]] bool runs(std::size_t task) const { return runs_[task]; }
  [[nodiscard]] int seen(std::size_t task) const { return seen_.at(task); }
  /// Returns two tasks that use the same memory without an order, in words; empty if there are
  /// none.
  [[nodiscard]] std::string race() const {
    for (std::size_t b = 0; b < tasks_.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        if (runs_[a] && runs_[b] && conflict(a, b) && (before_[b] >> a & 1) == 0) {
          return "tasks " + std::to_string(a) + " and " + std::to_string(b) + " have no order";
        }
      }
    }
    return {};
  }

 private:
  [[nodiscard]] bool conflict(std::size_t a, std::size_t b) const {
    planned_task const &x = tasks_[a], &y = tasks_[b];
    if (x.turn != 0 && x.turn == y.turn) { return false; }  // the device orders them
    return (x.writes && (x.writes == y.writes || x.writes == y.reads)) ||
           (y.writes && y.writes == x.reads);
  }
  void run(std::size_t i, unsigned failing) {
    planned_task const& task = tasks_[i];
    std::uint64_t all = 0;
    std::uint64_t every_failed = ~std::uint64_t{0};
    bool is_refused = false;
    auto const with_predecessors = [&](int each) {
      return before_[static_cast<std::size_t>(each)] | std::uint64_t{1} << each;
    };
    for (int const each : task.weak) { all |= with_predecessors(each); }
    for (int const each : task.strict) {
      all |= with_predecessors(each);
      if (!fails_[static_cast<std::size_t>(each)]) { continue; }
      is_refused = true;
      every_failed &= with_predecessors(each);
    }
    runs_[i] = !is_refused;
    fails_[i] = is_refused || (task.step >= 0 && (failing >> task.step & 1) != 0);
    // With the flaw, a task that is refused ends as soon as one of its predecessors has failed.
    // Then only that has certainly ended before it which has ended before all of its failed
    // predecessors.
    before_[i] = is_refused && with_ == flaw::ends_early ? every_failed : all;
    seen_.push_back(task.reads && runs_[i] ? memory_[static_cast<std::size_t>(*task.reads)] : -1);
    if (!runs_[i] || !task.writes) { return; }
    int& memory = memory_[static_cast<std::size_t>(*task.writes)];
    memory = task.step < 0 ? seen_.back() : fails_[i] ? -2 : task.step + 1;
  }

  flaw const with_;
  std::vector<planned_task> const& tasks_;
  std::vector<bool> runs_, fails_;
  std::vector<std::uint64_t> before_;          // bit i: task i has ended before this task ends
  std::vector<int> seen_;                      // the version that each task has read; -1: none
  std::array<int, places> memory_{0, -3, -3};  // the version at each place; negative: garbage
};

/// Compares a run with a serial program. @return what is wrong, or an empty text.
std::string compare(std::vector<step> const& program, unsigned failing, flaw with) {
  planner_model planner{with};
  for (std::size_t i = 0; i < program.size(); ++i) {
    planner.submit(static_cast<int>(i), program[i]);
  }
  run_model const ran{planner.tasks(), failing, with};
  if (std::string why = ran.race(); !why.empty()) { return why; }
  bool lost = false;
  int version = 0;
  int lost_in_turn = 0;  // the tasks of this turn may run although the data are lost
  for (std::size_t task = 0; task < planner.tasks().size(); ++task) {
    int const index = planner.tasks()[task].step;
    if (index < 0) { continue; }
    kinds const kind = program[static_cast<std::size_t>(index)].kind;
    int const turn = planner.tasks()[task].turn;
    bool const may_run = turn != 0 && turn == lost_in_turn;
    bool const should_run = kind == kinds::write || !lost;
    if (ran.runs(task) != should_run && !may_run) {
      return "task " + std::to_string(task) + (should_run ? " did not run" : " ran");
    }
    if (should_run && kind != kinds::write && ran.seen(task) != version) {
      return "task " + std::to_string(task) + " read version " + std::to_string(ran.seen(task)) +
             " instead of " + std::to_string(version);
    }
    if (kind == kinds::read) { continue; }
    lost = !should_run || (failing >> index & 1) != 0;
    if (lost && should_run) { lost_in_turn = turn; }
    version = index + 1;
  }
  return {};
}

/// Returns whether every task that reads has contents to read, so that a flow accepts the program.
bool is_valid(std::vector<step> const& program) {
  bool has_contents = true;
  for (step const& each : program) {
    if (each.kind == kinds::evict) { continue; }
    if (each.kind == kinds::renew) {
      has_contents = false;
    } else if (each.kind == kinds::write) {
      has_contents = true;
    } else if (!has_contents) {
      return false;
    }
  }
  return true;
}

struct search {
  flaw with;
  std::size_t length;
  std::size_t checked = 0;
  std::string wrong{};

  void extend(std::vector<step>& program) {
    if (!wrong.empty() || !is_valid(program)) { return; }
    if (program.size() == length) { return check(program); }
    for (kinds const kind : all_kinds) {
      // On the host, tasks that commute are tasks that update.
      int const first = kind == kinds::evict || kind == kinds::commute ? 1 : 0;
      for (int place = first; place < (kind == kinds::renew ? 1 : places); ++place) {
        program.push_back({kind, place});
        extend(program);
        program.pop_back();
      }
    }
  }
  void check(std::vector<step> const& program) {
    for (unsigned failing = 0; failing < 1u << length && wrong.empty(); ++failing) {
      ++checked;
      wrong = compare(program, failing, with);
    }
  }
};

search find_errors(flaw with, std::size_t length) {
  search found{with, length};
  std::vector<step> program;
  found.extend(program);
  return found;
}

// requirement
TEST(ReplicaModel, EveryTaskRunsAsInASerialProgram) {
  search const found = find_errors(flaw::none, sanitized ? 4 : 5);
  EXPECT_EQ(found.wrong, "");
  EXPECT_GT(found.checked, 50'000u);
}

// requirement: the checker finds errors
TEST(ReplicaModel, ErrorsAreFound) {
  for (flaw const with :
       {flaw::forgets_users, flaw::forgets_writer, flaw::strict_users, flaw::strict_healer,
        flaw::lenient_update, flaw::keeps_others_valid, flaw::copy_forgets_source,
        flaw::copy_is_no_reader, flaw::copy_forgets_readers, flaw::new_data_do_not_wait,
        flaw::ends_early, flaw::evicts_without_copy, flaw::evict_forgets_users,
        flaw::evict_forgets_writer, flaw::last_of_commuting, flaw::commutes_with_reader,
        flaw::lenient_commuting, flaw::evict_forgets_commuting}) {
    EXPECT_NE(find_errors(with, 4).wrong, "") << "flaw " << static_cast<int>(with);
  }
}

}  // namespace
}  // namespace flotilla::test
