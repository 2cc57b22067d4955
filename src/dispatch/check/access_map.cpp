// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/check/access_map.hpp"

#include <algorithm>
#include <iterator>

namespace flotilla::dispatch {

template <class Visit>
void access_map::for_each_entry(memory_access const& range, Visit&& visit) const {
  auto each = segments_.upper_bound(range.begin);
  if (each != segments_.begin()) { --each; }
  for (; each != segments_.end() && each->first < range.end; ++each) {
    if (each->second.end <= range.begin) { continue; }
    for (entry const& one : each->second.entries) { visit(one); }
  }
}

void access_map::find_rivals(memory_access const& access, std::vector<task_number>& rivals) const {
  for_each_entry(access, [&](entry const& one) {
    if (are_rivals(one, access)) { rivals.push_back(one.task); }
  });
}

std::optional<task_number> access_map::conflict(memory_access const& access,
                                                order const& is_before) const {
  std::optional<task_number> newest;
  for_each_entry(access, [&](entry const& one) {
    bool const is_newer = !newest || *newest < one.task;
    if (is_newer && are_rivals(one, access) && !is_before(one.task)) { newest = one.task; }
  });
  return newest;
}

void access_map::release(task_number task) {
  auto const found = uses_.find(task);
  if (--found->second == 0) { uses_.erase(found); }
}

template <class Predicate>
void access_map::remove_entries(segment& from, Predicate&& matches) {
  std::erase_if(from.entries, [&](entry const& one) {
    bool const is_match = matches(one);
    if (is_match) { release(one.task); }
    return is_match;
  });
}

void access_map::split(std::uintptr_t address) {
  auto found = segments_.upper_bound(address);
  if (found == segments_.begin()) { return; }
  --found;
  segment& left = found->second;
  if (found->first == address || left.end <= address) { return; }
  segments_.emplace(address, left);
  left.end = address;
  for (entry const& one : left.entries) { ++uses_[one.task]; }
}

access_map::segment_map::iterator access_map::cover(std::uintptr_t begin, std::uintptr_t end) {
  split(begin);
  split(end);
  for (std::uintptr_t at = begin; at < end;) {
    auto const next = segments_.lower_bound(at);
    std::uintptr_t const gap_end =
        next == segments_.end() ? end : std::min<std::uintptr_t>(next->first, end);
    if (at < gap_end) { segments_.emplace_hint(next, at, segment{gap_end, {}}); }
    at = at < gap_end ? gap_end : next->second.end;
  }
  return segments_.find(begin);
}

void access_map::add(task_number task, memory_access const& access, order const& is_before) {
  for (auto each = cover(access.begin, access.end);
       each != segments_.end() && each->first < access.end; ++each) {
    segment& one = each->second;
    auto const is_own_write = [&](entry const& old) { return old.task == task && old.writes; };
    bool const has_own_write = std::any_of(one.entries.begin(), one.entries.end(), is_own_write);
    remove_entries(one, [&](entry const& old) {
      bool const is_older = old.task == task || is_before(old.task);
      return old.memory != access.memory || (is_older && (access.writes || !old.writes));
    });
    if (has_own_write && !access.writes) { continue; }
    one.entries.push_back({task, access.memory, access.writes});
    ++uses_[task];
  }
  tidy(access.begin, access.end);
}

void access_map::remove(task_number task, memory_access const& range) {
  auto each = segments_.upper_bound(range.begin);
  if (each != segments_.begin()) { --each; }
  for (; each != segments_.end() && each->first < range.end; ++each) {
    remove_entries(each->second, [task](entry const& one) { return one.task == task; });
  }
  tidy(range.begin, range.end);
}

void access_map::remove_all(std::uintptr_t begin, std::uintptr_t end) {
  split(begin);
  split(end);
  for (auto each = segments_.lower_bound(begin); each != segments_.end() && each->first < end;
       ++each) {
    remove_entries(each->second, [](entry const&) { return true; });
  }
  tidy(begin, end);
}

void access_map::tidy(std::uintptr_t begin, std::uintptr_t end) {
  auto each = segments_.lower_bound(begin);
  if (each != segments_.begin()) { --each; }
  while (each != segments_.end() && each->first <= end) {
    segment& one = each->second;
    if (one.entries.empty()) {
      each = segments_.erase(each);
      continue;
    }
    auto const next = std::next(each);
    if (next == segments_.end()) { return; }
    if (one.end == next->first && one.entries == next->second.entries) {
      one.end = next->second.end;
      remove_entries(next->second, [](entry const&) { return true; });
      segments_.erase(next);
    } else {
      each = next;
    }
  }
}

}  // namespace flotilla::dispatch
