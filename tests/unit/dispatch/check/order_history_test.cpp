// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The order check without a runtime: conflicts, observations, and the bound of its memory.

#include "dispatch/check/order_history.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace flotilla::dispatch {
namespace {

class OrderHistory : public ::testing::Test {
 protected:
  using names = std::vector<std::uint32_t>;  // the tasks of a test have the names 1, 2, 3, …

  static task_name name_of(std::uint32_t task) { return {task, 1}; }
  static std::vector<task_name> all(names const& tasks) {
    std::vector<task_name> made;
    for (std::uint32_t const each : tasks) { made.push_back(name_of(each)); }
    return made;
  }
  static memory_access write(std::uintptr_t begin, std::uintptr_t end) {
    return {.begin = begin, .end = end, .writes = true, .memory = 1};
  }
  static memory_access read(std::uintptr_t begin, std::uintptr_t end) {
    return {.begin = begin, .end = end, .reads = true, .memory = 1};
  }
  /// Adds a task. @return the earlier task of the conflict, or "" if there is no conflict.
  std::string add(std::uint32_t task, names const& after, std::vector<memory_access> accesses,
                  names const& inside = {}) {
    auto const found =
        history_.add(name_of(task), all(after), all(inside),
                     {.text = {}, .label = std::to_string(task), .accesses = std::move(accesses)});
    return found ? found->earlier.label : "";
  }

  order_history history_{1000};
};

TEST_F(OrderHistory, MissingEdgeIsFound) {
  EXPECT_EQ(add(1, {}, {write(0, 10)}), "");
  EXPECT_EQ(add(2, {}, {read(5, 6)}), "1");
  EXPECT_EQ(add(2, {1}, {read(5, 6)}), "");
  EXPECT_EQ(add(3, {1}, {write(5, 6)}), "2");
  EXPECT_EQ(add(3, {2}, {write(5, 6)}), "") << "task 1 runs before task 2";
}

TEST_F(OrderHistory, PathsLeadOverTasksWithoutMemory) {
  EXPECT_EQ(add(1, {}, {write(0, 10)}), "");
  EXPECT_EQ(add(2, {1}, {}), "");
  EXPECT_EQ(add(3, {2}, {}), "");
  EXPECT_EQ(add(4, {3}, {write(0, 10)}), "");
}

TEST_F(OrderHistory, ObservedTaskAndItsAncestorsCauseNoReport) {
  EXPECT_EQ(add(1, {}, {write(0, 10)}), "");
  EXPECT_EQ(add(2, {1}, {write(20, 30)}), "");
  EXPECT_EQ(add(3, {}, {write(40, 50)}), "");
  history_.observed(name_of(2));
  EXPECT_EQ(add(4, {}, {write(0, 30)}), "");
  EXPECT_EQ(add(5, {4}, {write(40, 50)}), "3");
  history_.observed_before(history_.next());
  EXPECT_EQ(add(5, {}, {write(0, 50)}), "");
  EXPECT_EQ(history_.tasks(), 1u);
}

TEST_F(OrderHistory, TaskThatWasNotSubmittedCausesNoReport) {
  EXPECT_EQ(add(1, {}, {write(0, 10)}), "");
  history_.withdraw(name_of(1));
  EXPECT_EQ(add(2, {}, {write(0, 10)}), "");
  history_.withdraw(name_of(9));
}

// A callable may wait for its stream, and its stream waits for the callable's predecessors.
TEST_F(OrderHistory, TaskOfACallableIsLaterThanTheCallablesPredecessors) {
  EXPECT_EQ(add(1, {}, {write(0, 10)}), "");
  EXPECT_EQ(add(2, {1}, {}), "");
  EXPECT_EQ(add(3, {}, {write(0, 10)}, {2}), "");
  EXPECT_EQ(add(4, {}, {write(0, 10)}, {2}), "3");
}

TEST_F(OrderHistory, FreedMemoryCausesNoReport) {
  EXPECT_EQ(add(1, {}, {write(0, 10)}), "");
  history_.freed(0, 10);
  EXPECT_EQ(add(2, {}, {write(0, 10)}), "");
}

// boundary: tasks whose memory others have overwritten are forgotten
TEST_F(OrderHistory, LongChainNeedsBoundedMemory) {
  ASSERT_EQ(add(1, {}, {write(0, 100)}), "");
  for (std::uint32_t i = 2; i < 20'000; ++i) {
    ASSERT_EQ(add(i, {i - 1}, {write(0, 100), read(200, 300)}), "");
    ASSERT_LE(history_.tasks(), 600u);
  }
  EXPECT_LE(history_.segments(), 2u);
}

// boundary: the oldest tasks are forgotten, so that tasks that nobody observes need bounded memory
TEST_F(OrderHistory, TasksWithoutOrderNeedBoundedMemory) {
  for (std::uint32_t i = 1; i < 20'000; ++i) {
    ASSERT_EQ(add(i, {}, {read(0, 100), write(1000 + i, 1001 + i)}), "");
    ASSERT_LE(history_.tasks(), 1000u);
    ASSERT_LE(history_.segments(), 1001u);
  }
  EXPECT_EQ(add(20'000, {}, {write(0, 100)}), "19999");
}

/// Does the same as order_history, but forgets nothing and compares all pairs of tasks.
class simple_model {
 public:
  std::string add(std::set<std::uint32_t> const& after, std::vector<memory_access> accesses) {
    task made{.accesses = std::move(accesses)};
    for (std::uint32_t const each : after) {
      made.ancestors.insert(each);
      made.ancestors.insert(tasks_[each - 1].ancestors.begin(), tasks_[each - 1].ancestors.end());
    }
    for (auto number = static_cast<std::uint32_t>(tasks_.size()); number >= 1; --number) {
      if (!made.ancestors.contains(number) && !observed_.contains(number) &&
          collide(tasks_[number - 1], made)) {
        return std::to_string(number);
      }
    }
    tasks_.push_back(std::move(made));
    return "";
  }
  void observed(std::uint32_t number) {
    observed_.insert(number);
    observed_.insert(tasks_[number - 1].ancestors.begin(), tasks_[number - 1].ancestors.end());
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(tasks_.size()); }

 private:
  struct task {
    std::set<std::uint32_t> ancestors{};
    std::vector<memory_access> accesses;
  };
  static bool collide(task const& a, task const& b) {
    for (memory_access const& x : a.accesses) {
      for (memory_access const& y : b.accesses) {
        if ((x.writes || y.writes) && x.begin < y.end && y.begin < x.end) { return true; }
      }
    }
    return false;
  }
  std::vector<task> tasks_;
  std::set<std::uint32_t> observed_;
};

// The history forgets tasks, but must give the same answers as a model that forgets nothing.
TEST_F(OrderHistory, AgreesWithASimpleModel) {
  int reports = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random{seed};
    auto const below = [&random](std::uint32_t end) {
      return static_cast<std::uint32_t>(random() % end);
    };
    history_ = order_history{1000};
    simple_model model;
    for (int i = 0; i < 80; ++i) {
      std::set<std::uint32_t> after;
      // Most tasks name recent tasks, because most tasks without an order have a conflict.
      for (std::uint32_t k = below(5); k > 0 && model.size() != 0; --k) {
        after.insert(model.size() - below(std::min(model.size(), 6u)));
      }
      std::vector<memory_access> accesses;
      for (std::uint32_t k = below(3); k > 0; --k) {
        std::uint32_t const begin = below(24), end = begin + 1 + below(8);
        accesses.push_back(below(2) == 0 ? read(begin, end) : write(begin, end));
      }
      names const list{after.begin(), after.end()};
      std::string const expected = model.add(after, accesses);
      std::uint32_t const number = model.size() + (expected.empty() ? 0 : 1);
      ASSERT_EQ(add(number, list, accesses), expected) << "seed " << seed << ", step " << i;
      reports += expected.empty() ? 0 : 1;
      if (below(10) == 0 && model.size() != 0) {
        std::uint32_t const seen = 1 + below(model.size());
        model.observed(seen);
        history_.observed(name_of(seen));
      }
    }
  }
  EXPECT_GT(reports, 1000) << "the test needs many conflicts";
}

}  // namespace
}  // namespace flotilla::dispatch
