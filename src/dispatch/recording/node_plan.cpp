// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/node_plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace flotilla::dispatch {

namespace {

// A group with fewer tasks is small.
constexpr std::size_t small_group = 8;
// Small groups of a form and level stay apart if they are so few nodes. To start five kernels takes
// a GPU about as long as to wait for a level (0.2 us a kernel, 1.5 us a level).
constexpr std::size_t max_small_nodes = 4;
// So many larger groups of a form and level stay apart.
constexpr std::size_t max_large_groups = 16;
// How many predecessors of a predecessor are looked at to find out what it waits for.
constexpr std::size_t max_looks = 16;

class node_planner {
 public:
  node_planner(index_lists const& after, std::span<std::uint32_t const> levels,
               std::span<task_share const> shares)
      : after_(after),
        levels_(levels),
        shares_(shares),
        edges_(shares.size()),
        covered_(shares.size(), 0),
        marks_(shares.size(), 0) {
    plan_.node_of.resize(shares.size());
    plan_.tasks.reserve(shares.size(), shares.size());
    edges_.after().reserve(shares.size(), after.indices());
  }

  node_plan run() {
    sort_by_level();
    for (std::size_t level = 0; level + 1 < level_begins_.size(); ++level) {
      std::size_t const begin = level_begins_[level];
      std::span const tasks = std::span{by_level_}.subspan(begin, level_begins_[level + 1] - begin);
      plan_level(tasks);
      follows_exchange_ = std::any_of(tasks.begin(), tasks.end(), [this](std::uint32_t task) {
        return shares_[task].is_exchange;
      });
    }
    for (std::uint32_t node = 0; node < plan_.tasks.size(); ++node) {
      if (edges_.is_leaf(node)) { plan_.leaves.push_back(node); }
    }
    plan_.after = std::move(edges_.after());
    return std::move(plan_);
  }

 private:
  /// A task that may be part of a grid. Tasks with the same predecessors have the same key.
  struct candidate {
    std::uint32_t form;
    std::uint32_t task;
    std::uint64_t key;
  };
  using candidates = std::span<candidate const>;

  /// Sorts the tasks by level, and inside a level by their indices.
  void sort_by_level() {
    auto const count = static_cast<std::uint32_t>(shares_.size());
    std::uint32_t const end =
        count == 0 ? 0 : *std::max_element(levels_.begin(), levels_.end()) + 1;
    level_begins_.assign(end + 1, 0);
    for (std::uint32_t const each : levels_) { ++level_begins_[each + 1]; }
    std::partial_sum(level_begins_.begin(), level_begins_.end(), level_begins_.begin());
    by_level_.resize(count);
    std::vector<std::uint32_t> next = level_begins_;
    for (std::uint32_t i = 0; i < count; ++i) { by_level_[next[levels_[i]]++] = i; }
  }

  void plan_level(std::span<std::uint32_t const> tasks) {
    groups_.clear();
    grouped_.clear();
    find_candidates(tasks);
    for (std::size_t begin = 0; begin < candidates_.size();) {
      std::size_t end = begin + 1;
      while (end < candidates_.size() && candidates_[end].form == candidates_[begin].form) {
        ++end;
      }
      group_form(candidates{candidates_}.subspan(begin, end - begin));
      begin = end;
    }
    // Number the nodes by their first tasks, as the tasks were recorded.
    auto const is_before = [this](auto const& one, auto const& other) {
      return grouped_[one.begin] < grouped_[other.begin];
    };
    if (!std::is_sorted(groups_.begin(), groups_.end(), is_before)) {
      std::sort(groups_.begin(), groups_.end(), is_before);
    }
    for (group const& each : groups_) {
      add_node(std::span{grouped_}.subspan(each.begin, each.end - each.begin));
    }
  }

  /// Makes single nodes of the tasks that cannot be parts of a grid, and lists the others, sorted
  /// by form, key and task.
  void find_candidates(std::span<std::uint32_t const> tasks) {
    candidates_.clear();
    for (std::uint32_t const task : tasks) {
      if (shares_[task].form == 0 || tasks.size() < node_plan::min_tasks) {
        add_group({&task, 1});
      } else {
        candidates_.push_back({shares_[task].form, task, key_of(task)});
      }
    }
    auto const is_before = [](candidate const& one, candidate const& other) {
      if (one.form != other.form) { return one.form < other.form; }
      return one.key != other.key ? one.key < other.key : one.task < other.task;
    };
    if (!std::is_sorted(candidates_.begin(), candidates_.end(), is_before)) {
      std::sort(candidates_.begin(), candidates_.end(), is_before);
    }
  }

  /// Groups the tasks of one form and level.
  void group_form(candidates all) {
    if (all.size() < shares_[all[0].task].min_on_level) {
      for (candidate const& each : all) { add_group({&each.task, 1}); }
      return;
    }
    parts_.clear();
    for (std::size_t begin = 0; begin < all.size();) {
      std::size_t end = begin + 1;
      while (end < all.size() && (follows_exchange_ || all[end].key == all[begin].key)) { ++end; }
      parts_.push_back({begin, end});
      begin = end;
    }
    std::size_t const kept = follows_exchange_ ? 0 : count_kept();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (i <= kept) { joined_.clear(); }
      for (std::size_t k = parts_[i].begin; k < parts_[i].end; ++k) {
        joined_.push_back(all[k].task);
      }
      if (i < kept) { add_grids(joined_); }
    }
    if (kept == parts_.size()) { return; }
    std::sort(joined_.begin(), joined_.end());
    add_grids(joined_);
  }

  /// Sorts parts_ by size, largest first. Returns how many of them stay apart.
  std::size_t count_kept() {
    if (parts_.size() == 1) { return 1; }
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](auto const& one, auto const& other) { return one.size() > other.size(); });
    std::size_t large = 0;
    while (large < std::min(parts_.size(), max_large_groups) &&
           parts_[large].size() >= small_group) {
      ++large;
    }
    std::size_t nodes = 0;  // that the other groups would be
    for (std::size_t i = large; i < parts_.size() && nodes <= max_small_nodes; ++i) {
      nodes += parts_[i].size() < node_plan::min_tasks ? parts_[i].size() : 1;
    }
    return nodes <= max_small_nodes ? parts_.size() : large;
  }

  /// Makes grids of these tasks, as large as a grid may be.
  void add_grids(std::span<std::uint32_t const> tasks) {
    while (!tasks.empty()) {
      std::size_t count = 0;
      std::uint64_t blocks = 0;
      while (count < tasks.size() && count < node_plan::max_tasks) {
        blocks += shares_[tasks[count]].blocks;
        if (blocks > node_plan::max_blocks) { break; }
        ++count;
      }
      if (count >= node_plan::min_tasks) {
        add_group(tasks.first(count));
      } else {
        count = std::max<std::size_t>(count, 1);
        for (std::size_t i = 0; i < count; ++i) { add_group(tasks.subspan(i, 1)); }
      }
      tasks = tasks.subspan(count);
    }
  }

  void add_group(std::span<std::uint32_t const> tasks) {
    groups_.push_back({grouped_.size(), grouped_.size() + tasks.size()});
    grouped_.insert(grouped_.end(), tasks.begin(), tasks.end());
  }

  void add_node(std::span<std::uint32_t const> tasks) {
    auto const node = static_cast<std::uint32_t>(plan_.tasks.size());
    find_ahead(tasks);
    if (ahead_.empty()) { edges_.add_root(node); }
    for (std::uint32_t const each : ahead_) { edges_.add(each, node); }
    edges_.close();
    // All nodes before the first gap in front of `node` are ahead of it.
    std::uint32_t covered = 0;
    for (std::uint32_t const each : ahead_) { covered = std::max(covered, covered_[each]); }
    for (std::uint32_t const each : ahead_) { covered += each == covered ? 1 : 0; }
    covered_[node] = covered == node ? node + 1 : covered;
    for (std::uint32_t const task : tasks) {
      plan_.tasks.push(task);
      plan_.node_of[task] = node;
    }
    plan_.tasks.close();
  }

  /// Returns a number that is the same for all tasks with the same predecessors.
  std::uint64_t key_of(std::uint32_t task) {
    find_ahead({&task, 1});
    std::uint64_t key = ahead_.size();
    for (std::uint32_t const each : ahead_) {
      key = (key ^ each) * 0x9e37'79b9'7f4a'7c15;
      key ^= key >> 32;
    }
    return key;
  }

  /// Writes the nodes that must end before these tasks to ahead_, ascending, without nodes for
  /// which other nodes of ahead_ wait.
  void find_ahead(std::span<std::uint32_t const> tasks) {
    ahead_.clear();
    ++mark_;
    for (std::uint32_t const task : tasks) {
      for (std::uint32_t const before : after_[task]) {
        std::uint32_t const node = plan_.node_of[before];
        if (std::exchange(marks_[node], mark_) != mark_) { ahead_.push_back(node); }
      }
    }
    if (ahead_.size() < 2) { return; }
    std::sort(ahead_.begin(), ahead_.end());
    // The node that waits, directly or not, for the most nodes of the lowest numbers.
    std::uint32_t const widest =
        *std::max_element(ahead_.begin(), ahead_.end(),
                          [this](auto one, auto other) { return covered_[one] < covered_[other]; });
    auto const drop_all = [this](auto const& condition) {
      ahead_.erase(std::remove_if(ahead_.begin(), ahead_.end(), condition), ahead_.end());
    };
    drop_all([&](std::uint32_t each) { return each != widest && each < covered_[widest]; });
    if (ahead_.size() < 2 || ahead_.size() > max_side_by_side) { return; }
    for (std::uint32_t const each : ahead_) {
      std::span<std::uint32_t const> const its = edges_.after()[each];
      for (std::uint32_t const before : its.first(std::min(its.size(), max_looks))) {
        marks_[before] = 0;
      }
    }
    drop_all([this](std::uint32_t each) { return marks_[each] != mark_; });
  }

  struct range {
    std::size_t begin, end;
    [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
  };
  using group = range;  // in grouped_

  index_lists const& after_;
  std::span<std::uint32_t const> levels_;
  std::span<task_share const> shares_;
  node_plan plan_;
  bounded_edges edges_;
  std::vector<std::uint32_t> by_level_, level_begins_;
  // By node: all nodes with smaller numbers than this one are ahead of the node or the node itself.
  std::vector<std::uint32_t> covered_;
  std::vector<std::uint32_t> marks_;  // by node: the last search that found the node
  std::uint32_t mark_ = 0;
  bool follows_exchange_ = false;  // whether the level that is planned follows an exchange
  // Reused for each level, form and task:
  std::vector<group> groups_;
  std::vector<std::uint32_t> grouped_, joined_, ahead_;
  std::vector<candidate> candidates_;
  std::vector<range> parts_;
};

}  // namespace

node_plan plan_nodes(index_lists const& after, std::span<std::uint32_t const> levels,
                     std::span<task_share const> shares) {
  return node_planner{after, levels, shares}.run();
}

}  // namespace flotilla::dispatch
