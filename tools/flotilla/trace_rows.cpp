// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

namespace tool {
namespace {

/// The tracks of one name with one parent, and what is below them.
struct group {
  std::string name;
  std::vector<std::uint64_t> tracks;
  std::vector<group> below;

  /// The rows that show everything.
  [[nodiscard]] std::size_t rows() const {
    return std::accumulate(below.begin(), below.end(), tracks.size(),
                           [](std::size_t sum, group const& each) { return sum + each.rows(); });
  }
};

class layout {
 public:
  explicit layout(trace_model const& trace) : trace_(trace) {
    for (auto const& [id, track] : trace.tracks) { children_[track.parent].push_back(id); }
    for (trace_slice const& each : trace.slices) { with_slices_.insert(each.track); }
  }

  trace_rows run(std::size_t max_rows) {
    place_all(groups_below({0}), max_rows, 0);
    return std::move(made_);
  }

 private:
  /// Returns the groups that have slices.
  [[nodiscard]] std::vector<group> groups_below(std::vector<std::uint64_t> const& parents) const {
    std::vector<group> made;
    std::map<std::string, std::size_t> by_name;
    for (std::uint64_t const parent : parents) {
      auto const found = children_.find(parent);
      if (found == children_.end()) { continue; }
      for (std::uint64_t const id : found->second) {
        std::string const& name = trace_.tracks.at(id).name;
        auto const [index, is_new] = by_name.emplace(name, made.size());
        if (is_new) { made.push_back({name, {}, {}}); }
        made[index->second].tracks.push_back(id);
      }
    }
    for (group& each : made) {
      each.below = groups_below(each.tracks);
      if (each.below.size() == 1 && each.below[0].below.empty() && !has_slices(each)) {
        // A lane and its only kind of rows need no row for the lane.
        each.tracks = std::move(each.below[0].tracks);
        each.name += each.below[0].name == "tasks" ? "" : ": " + each.below[0].name;
        each.below.clear();
      }
    }
    std::erase_if(made, [&](group const& each) { return each.below.empty() && !has_slices(each); });
    sort_by_number(made);
    return made;
  }

  [[nodiscard]] bool has_slices(group const& one) const {
    return std::any_of(one.tracks.begin(), one.tracks.end(),
                       [&](std::uint64_t id) { return with_slices_.count(id) != 0; });
  }

  /// Sorts groups such as "launches 10" and "launches 9" by their numbers. Their common place is
  /// that of the first of them.
  static void sort_by_number(std::vector<group>& groups) {
    struct place {
      std::size_t first;
      std::uint64_t number;
      bool operator<(place const& other) const noexcept {
        return first != other.first ? first < other.first : number < other.number;
      }
    };
    std::map<std::string, std::size_t> firsts;  // by the name before the number
    std::map<std::string, place> places;        // by the name
    for (std::size_t i = 0; i < groups.size(); ++i) {
      std::string const& name = groups[i].name;
      std::size_t const digits = std::min(name.find_first_of("0123456789"), name.size());
      std::size_t const first = firsts.emplace(name.substr(0, digits), i).first->second;
      places[name] = {first, std::strtoull(name.c_str() + digits, nullptr, 10)};
    }
    std::stable_sort(groups.begin(), groups.end(), [&](group const& a, group const& b) {
      return places.at(a.name) < places.at(b.name);
    });
  }

  /// Divides rows among those who need `needs`: who needs less than an equal share gets all, and
  /// the others share the rest. Each gets at least one. There are at least as many rows as needs.
  static std::vector<std::size_t> shares(std::vector<std::size_t> const& needs, std::size_t rows) {
    std::vector<std::size_t> order(needs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return needs[a] < needs[b]; });
    std::vector<std::size_t> made(needs.size());
    std::size_t others = needs.size();
    for (std::size_t const i : order) {
      made[i] = std::min(needs[i], rows / others--);
      rows -= made[i];
    }
    return made;
  }

  void place_all(std::vector<group> const& groups, std::size_t rows, int depth) {
    std::size_t const shown = groups.size() <= rows ? groups.size() : rows - 1;
    std::vector<std::size_t> needs;
    for (std::size_t i = 0; i < shown; ++i) { needs.push_back(groups[i].rows()); }
    std::vector<std::size_t> const given = shares(needs, shown < groups.size() ? shown : rows);
    for (std::size_t i = 0; i < shown; ++i) { place(groups[i], given[i], depth); }
    if (shown == groups.size()) { return; }
    trace_row& rest = add_sum(depth);
    for (std::size_t i = shown; i < groups.size(); ++i) { sum_up(groups[i]); }
    rest.label = std::to_string(rest.tracks) + " more";
  }

  void place(group const& one, std::size_t rows, int depth) {
    std::size_t const all = one.rows();
    if (rows == 1 && all > 1) {
      trace_row& sum = add_sum(depth);
      sum_up(one);
      sum.label = one.name + " (" + std::to_string(sum.tracks) + " rows)";
      return;
    }
    std::size_t own = one.tracks.size();
    if (rows < all && !one.below.empty()) {
      // What is below needs one row at least.
      std::size_t const needed = all - own;
      own = shares({own, needed}, rows)[0];
    } else {
      own = std::min(own, rows);
    }
    bool const whole = own == one.tracks.size();
    std::size_t const single = whole ? own : own - 1;
    for (std::size_t i = 0; i < single; ++i) {
      made_.of_track[one.tracks[i]] = made_.rows.size();
      made_.rows.push_back({i == 0 ? one.name : "", depth, false, 1});
    }
    if (!whole) {
      trace_row& rest = add_sum(depth);
      for (std::size_t i = single; i < one.tracks.size(); ++i) { sum_up(one.tracks[i]); }
      rest.label = (single == 0 ? one.name + ": " : "") + std::to_string(rest.tracks) +
                   (single == 0 ? "" : " more");
    }
    if (!one.below.empty()) { place_all(one.below, rows - own, depth + 1); }
  }

  trace_row& add_sum(int depth) { return made_.rows.emplace_back(trace_row{"", depth, true, 0}); }
  /// Adds tracks to the last row.
  void sum_up(std::uint64_t track) {
    made_.of_track[track] = made_.rows.size() - 1;
    ++made_.rows.back().tracks;
  }
  void sum_up(group const& one) {
    for (std::uint64_t const id : one.tracks) { sum_up(id); }
    for (group const& each : one.below) { sum_up(each); }
  }

  trace_model const& trace_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> children_;
  std::set<std::uint64_t> with_slices_;
  trace_rows made_;
};

}  // namespace

trace_rows lay_out_rows(trace_model const& trace, std::size_t max_rows) {
  return layout{trace}.run(max_rows);
}

}  // namespace tool
