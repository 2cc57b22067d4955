// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The check of the order with random task graphs. A complete graph causes no report. If one
// necessary entry of `after` is missing, the check finds this entry.

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

using word = std::uint32_t;

constexpr unsigned device_units = 8;  // halves of four buffers: two on each device
constexpr unsigned units = 10;        // and two halves of a pinned buffer

/// A task of a graph. It reads one unit of memory, or none, and writes one unit.
struct planned {
  enum class kinds { kernel, copy, fill } kind = kinds::fill;
  std::optional<unsigned> from{};
  unsigned to = 0;
  std::set<unsigned> after{};      // indices of earlier tasks
  std::set<unsigned> necessary{};  // those of `after` that share memory with this task
};

/// Makes graphs in which all tasks that share memory have an order.
class graph_maker {
 public:
  explicit graph_maker(unsigned seed) : random_{seed} {}

  std::vector<planned> make(unsigned tasks) {
    std::vector<planned> made;
    for (unsigned i = 0; i < tasks; ++i) {
      planned one = any_task();
      if (one.from) { need(one, writer_[*one.from]); }
      need(one, writer_[one.to]);
      for (unsigned const reader : readers_[one.to]) { need(one, reader); }
      one.after = one.necessary;
      if (i != 0 && below(3) == 0) { one.after.insert(below(i)); }
      if (one.from) { readers_[*one.from].push_back(i); }
      // A kernel also reads what it writes, but its write needs an order with all other tasks.
      writer_[one.to] = i;
      readers_[one.to].clear();
      made.push_back(std::move(one));
    }
    return made;
  }
  unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }

 private:
  planned any_task() {
    planned made;
    made.to = below(device_units);
    switch (below(4)) {
      case 0: break;
      case 1:
        made.kind = planned::kinds::kernel;
        // A kernel uses memory of one device: units 0 to 3 or units 4 to 7.
        made.from = made.to / 4 * 4 + (made.to + 1 + below(3)) % 4;
        break;
      case 2:
        made.kind = planned::kinds::copy;
        made.from = (made.to + 1 + below(device_units - 1)) % device_units;
        break;
      default: {
        made.kind = planned::kinds::copy;
        made.from = device_units + below(units - device_units);
        if (below(2) == 0) { std::swap(*made.from, made.to); }
      }
    }
    return made;
  }
  static void need(planned& task, std::optional<unsigned> earlier) {
    if (earlier) { task.necessary.insert(*earlier); }
  }

  std::mt19937 random_;
  std::array<std::optional<unsigned>, units> writer_{};
  std::array<std::vector<unsigned>, units> readers_{};
};

/// Returns whether a path leads from task `from` to task `to`.
bool leads(std::vector<planned> const& graph, unsigned from, unsigned to) {
  return std::any_of(graph[to].after.begin(), graph[to].after.end(), [&](unsigned each) {
    return each == from || (each > from && leads(graph, from, each));
  });
}

struct edge {
  unsigned from = 0, to = 0;
};

/// Removes a random necessary entry that no other path replaces. Empty if there is none.
std::optional<edge> remove_edge(std::vector<planned>& graph, graph_maker& random) {
  std::vector<edge> found;
  for (unsigned to = 0; to < graph.size(); ++to) {
    for (unsigned const from : std::set{graph[to].necessary}) {
      graph[to].after.erase(from);
      if (!leads(graph, from, to)) { found.push_back({from, to}); }
      graph[to].after.insert(from);
    }
  }
  if (found.empty()) { return std::nullopt; }
  edge const chosen = found[random.below(static_cast<unsigned>(found.size()))];
  graph[chosen.to].after.erase(chosen.from);
  return chosen;
}

class CheckOrderGraphs : public guest_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    if (devices_there() < 2) { GTEST_SKIP() << "needs 2 devices"; }
    rt_.emplace(runtime_options{.devices = device_spec(2), .checks = checks{.order = true}});
    program_.emplace(*rt_);
    for (unsigned i = 0; i < 4; ++i) { buffers_.emplace_back(*rt_, device_ordinal{i / 2}, 8); }
    pinned_.emplace(*rt_, 8);
  }
  void TearDown() override {
    pinned_.reset();
    buffers_.clear();
    program_.reset();
    rt_.reset();
    guest_test::TearDown();
  }
  device_span<word> unit(unsigned index) { return buffers_[index / 2].subspan(index % 2 * 4, 4); }
  host_span<word> pinned_unit(unsigned index) { return pinned_->subspan(index % 2 * 4, 4); }

  ticket submit(planned const& task, task_options const& options) {
    if (task.kind == planned::kinds::fill) { return rt_->submit(unit(task.to).fill(1), options); }
    if (task.kind == planned::kinds::kernel) {
      launch const copies = program_->copy.with_shape({1}, {1})(
          unit(task.to), device_span<word const>{unit(*task.from)});
      return rt_->submit(copies, options);
    }
    if (task.to >= device_units) {
      return rt_->submit(unit(*task.from).copy_to(pinned_unit(task.to)), options);
    }
    if (*task.from >= device_units) {
      return rt_->submit(unit(task.to).copy_from(pinned_unit(*task.from)), options);
    }
    return rt_->submit(unit(*task.from).copy_to(unit(task.to)), options);
  }

  /// Submits the graph. After a report, submits the task again with the missing entry.
  /// @param missing  The entry that is missing, if any.
  /// @return the reports, each with the index of the refused task.
  std::vector<std::pair<unsigned, std::string>> run(std::vector<planned> const& graph,
                                                    std::optional<edge> missing, unsigned seed) {
    std::vector<ticket> tickets;
    std::vector<std::pair<unsigned, std::string>> reports;
    for (unsigned i = 0; i < graph.size(); ++i) {
      std::string const label = std::to_string(i);
      dependency_list after;
      for (unsigned const each : graph[i].after) { after.add(tickets[each]); }
      try {
        tickets.push_back(submit(graph[i], {.label = label, .after = after}));
      } catch (missing_dependency const& report) {
        reports.emplace_back(i, report.what());
        if (!missing) { break; }
        after.add(tickets[missing->from]);
        tickets.push_back(submit(graph[i], {.label = label, .after = after}));
      }
      // Some graphs are partly observed by the host.
      if (!missing && seed % 3 == 0 && i % 7 == 6) { tickets[i / 2].wait(); }
    }
    rt_->wait_idle();
    for (ticket const& each : tickets) { each.wait(); }
    return reports;
  }

  std::optional<runtime> rt_;
  std::optional<test_program> program_;
  std::vector<device_buffer<word>> buffers_;
  std::optional<host_buffer<word>> pinned_;
};

// requirement: a program that gives all tasks their order gets no report
TEST_F(CheckOrderGraphs, CompleteGraphsCauseNoReport) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    auto const reports = run(graph_maker{seed}.make(24), std::nullopt, seed);
    ASSERT_TRUE(reports.empty()) << "seed " << seed << ": " << reports[0].second;
  }
}

// requirement: the report names the missing entry
TEST_F(CheckOrderGraphs, MissingEntriesAreFound) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    graph_maker random{seed};
    std::vector<planned> graph = random.make(24);
    auto const missing = remove_edge(graph, random);
    ASSERT_TRUE(missing) << "seed " << seed;
    auto const reports = run(graph, missing, seed);
    ASSERT_EQ(reports.size(), 1u) << "seed " << seed;
    EXPECT_EQ(reports[0].first, missing->to) << "seed " << seed;
    std::string const expected = "add the ticket of task '" + std::to_string(missing->from) +
                                 "' to the 'after' of task '" + std::to_string(missing->to) + "'";
    EXPECT_NE(reports[0].second.find(expected), std::string::npos)
        << "seed " << seed << ": " << reports[0].second << "\nexpected: " << expected;
  }
}

}  // namespace
}  // namespace flotilla::test
