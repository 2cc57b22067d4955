// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "trace_colours.hpp"

#include <algorithm>
#include <array>

#include "trace_report.hpp"

namespace tool {
namespace {

constexpr std::array<trace_colour, 9> own_colours{{{"#4e79a7", "white"},
                                                   {"#f28e2b", "black"},
                                                   {"#59a14f", "white"},
                                                   {"#e15759", "white"},
                                                   {"#76b7b2", "black"},
                                                   {"#edc948", "black"},
                                                   {"#b07aa1", "white"},
                                                   {"#9c755f", "white"},
                                                   {"#ff9da7", "black"}}};
constexpr trace_colour of_others{"#8a8a8a", "white"};
// What is no work of a device or of a function, for example the periods of a thread.
constexpr trace_colour of_no_task{"#b9c2cc", "black"};

}  // namespace

trace_colours::trace_colours(trace_model const& trace) {
  std::map<std::string, entry> all;
  for (trace_slice const& each : trace.slices) {
    if (!is_task(each)) { continue; }
    entry& one = all[kernel_of(each)];
    one.kernel = kernel_of(each);
    ++one.tasks;
    one.time += each.length();
  }
  for (auto& [kernel, one] : all) { legend_.push_back(std::move(one)); }
  std::stable_sort(legend_.begin(), legend_.end(),
                   [](entry const& a, entry const& b) { return a.time > b.time; });
  bool const too_many = legend_.size() > own_colours.size() + 1;
  std::size_t const single = too_many ? own_colours.size() : legend_.size();
  for (std::size_t i = 0; i < legend_.size(); ++i) {
    legend_[i].colour = i < own_colours.size() ? own_colours[i] : of_others;
    by_kernel_[legend_[i].kernel] = legend_[i].colour;
  }
  if (!too_many) { return; }
  entry others{std::to_string(legend_.size() - single) + " others", 0, 0, of_others};
  for (std::size_t i = single; i < legend_.size(); ++i) {
    others.tasks += legend_[i].tasks;
    others.time += legend_[i].time;
  }
  legend_.resize(single);
  legend_.push_back(std::move(others));
}

trace_colour trace_colours::of(trace_slice const& slice) const {
  bool const is_work = is_task(slice) || slice.category == "batch" || slice.category == "measured";
  auto const found = is_work ? by_kernel_.find(kernel_of(slice)) : by_kernel_.end();
  return found == by_kernel_.end() ? of_no_task : found->second;
}

}  // namespace tool
