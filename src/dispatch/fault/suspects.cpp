// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/fault/suspects.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace flotilla::dispatch {

namespace {

// Limits of the text. A fault of a flood has thousands of suspects.
constexpr std::size_t max_works = 32;
constexpr std::size_t max_labels = 8;

}  // namespace

void suspect_list::add(slot_address task, task_text const& text) {
  same_work& work = by_work_[text.describe_work(task)];
  ++work.count;
  if (work.labels.size() > max_labels) { return; }
  std::string label = text.label_of(task);
  bool const is_known =
      std::find(work.labels.begin(), work.labels.end(), label) != work.labels.end();
  if (!label.empty() && !is_known) { work.labels.push_back(std::move(label)); }
}

std::string suspect_list::text() const {
  std::string text;
  std::size_t named = 0;
  for (auto const& [what, work] : by_work_) {
    if (++named > max_works) { return text + "; and more"; }
    text += text.empty() ? "" : "; ";
    text += work.count == 1 ? what : std::to_string(work.count) + " tasks: " + what;
    for (std::size_t i = 0; i < std::min(work.labels.size(), max_labels); ++i) {
      char const* const first = work.labels.size() == 1 ? ", label '" : ", labels '";
      text += (i > 0 ? ", '" : first) + work.labels[i] + "'";
    }
    if (work.labels.size() > max_labels) { text += " and more"; }
  }
  return text;
}

std::map<unsigned, suspect_list> find_suspects(task_table const& tasks,
                                               completion_board const& board,
                                               task_text const& text) {
  auto const for_each_running = [&](auto&& visit) {
    tasks.for_each_open([&](slot_address task) {
      end_mark const end{tasks.at(task).end.load(std::memory_order_acquire)};
      if (end.valid() && !board.reached(end)) { visit(task, end); }
      return true;
    });
  };
  // Returns the device and the lane of a mark as one number.
  auto const lane_of = [](end_mark end) { return end.word >> 48; };
  // For each device and lane: the marks that the lane has not reached, by their numbers.
  std::map<std::uint64_t, std::map<std::uint64_t, end_mark>> running;
  for_each_running(
      [&](slot_address, end_mark end) { running[lane_of(end)].try_emplace(end.number(), end); });
  auto const is_suspect = [&](end_mark end) {
    auto const& marks = running[lane_of(end)];
    return std::all_of(marks.begin(), marks.lower_bound(end.number()), [&](auto const& earlier) {
      end_mark const mark = earlier.second;
      return board.event_of(mark) != nullptr ||
             board.page(mark.device()).is_beside_next(mark.lane(), mark.number());
    });
  };
  std::map<unsigned, suspect_list> suspects;
  for_each_running([&](slot_address task, end_mark end) {
    if (is_suspect(end)) { suspects[end.device()].add(task, text); }
  });
  return suspects;
}

}  // namespace flotilla::dispatch
