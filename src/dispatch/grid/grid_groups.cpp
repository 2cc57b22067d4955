// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/grid_groups.hpp"

#include <algorithm>
#include <cassert>

namespace flotilla::dispatch {

void grid_groups::add(group tasks, bool one_form, grid_policy const& policy) {
  if (one_form && groups_.size() < max_groups) {
    groups_.push_back(tasks);
    return;
  }
  assert(order_.size() + tasks.size() <= order_.capacity());
  auto const begin = order_.insert(order_.end(), tasks.begin(), tasks.end());
  auto const taken = std::stable_partition(
      begin, order_.end(), [&](slot_address task) { return policy.takes(tasks_.at(task)); });
  others_.insert(others_.end(), taken, order_.end());
  order_.erase(taken, order_.end());
  for (auto first = begin; first != order_.end();) {
    if (groups_.size() == max_groups) {
      others_.insert(others_.end(), first, order_.end());
      order_.erase(first, order_.end());
      return;
    }
    slot const& form = tasks_.at(*first);
    auto const end = std::stable_partition(first, order_.end(), [&](slot_address task) {
      return grid_policy::have_one_form(tasks_.at(task), form);
    });
    groups_.emplace_back(first, end);
    first = end;
  }
}

bool grid_groups::try_add(group tasks, bool one_form, grid_policy const& policy) {
  std::size_t const groups = groups_.size(), others = others_.size(), order = order_.size();
  add(tasks, one_form, policy);
  if (others_.size() == others) { return true; }
  groups_.resize(groups);
  others_.resize(others);
  order_.resize(order);
  return false;
}

}  // namespace flotilla::dispatch
