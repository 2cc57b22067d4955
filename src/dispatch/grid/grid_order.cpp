// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/grid_order.hpp"

#include <bit>
#include <cassert>

namespace flotilla::dispatch {

grid_order::grid_order(task_table const& tasks, unsigned device)
    : table_of_tasks_(tasks), device_(device) {
  tasks_.reserve(lane::max_tasks);
  nodes_.reserve(lane::max_tasks);
  table_.fill(none);
}

void grid_order::clear() noexcept {
  // Removing only what was added costs less than filling the table.
  for (std::size_t i = tasks_.size(); i-- != 0;) { table_[place_of(tasks_[i])] = none; }
  tasks_.clear();
  nodes_.clear();
  edges_.clear();
  waves_ = 0;
}

std::size_t grid_order::place_of(slot_address task) const noexcept {
  constexpr unsigned bits = std::countr_zero(table_size);
  static_assert(std::has_single_bit(table_size));
  std::size_t place = (task * 0x9e37'79b9u) >> (32 - bits);
  while (table_[place] != none && tasks_[table_[place]] != task) {
    place = (place + 1) % table_size;
  }
  return place;
}

std::uint32_t grid_order::find(task_key key) const noexcept {
  std::uint32_t const position = table_[place_of(key.slot)];
  if (position == none) { return none; }
  // relaxed: the tasks of the grid are open, and only this thread ends them
  generation_word const word{
      table_of_tasks_.at(key.slot).generation.load(std::memory_order_relaxed)};
  return static_cast<std::uint32_t>(word.generation()) == key.generation ? position : none;
}

void grid_order::add_edge_elsewhere(task_key key, others const& elsewhere) {
  // relaxed: only this thread launches and ends tasks of these devices. If another task has the
  // slot by now, `find` finds none.
  unsigned const device = table_of_tasks_.at(key.slot).device.load(std::memory_order_relaxed) - 1;
  if (device == device_) { return; }
  for (bool const before : {false, true}) {
    std::span<grid_order* const> const orders = before ? elsewhere.before : elsewhere.together;
    grid_order const* const other = device < orders.size() ? orders[device] : nullptr;
    std::uint32_t const position = other == nullptr ? none : other->find(key);
    if (position == none) { continue; }
    edges_.push_back({position, static_cast<std::uint16_t>(device), before});
    return;
  }
}

bool grid_order::add_wave(std::span<slot_address const> tasks, others const& elsewhere) {
  assert(tasks_.size() + tasks.size() <= lane::max_tasks);
  std::size_t const nodes = nodes_.size();
  std::size_t const edges = edges_.size();
  for (slot_address const task : tasks) {
    auto const first = static_cast<std::uint32_t>(edges_.size());
    bool const may_follow = waves_ != 0 || !elsewhere.together.empty();
    for (std::size_t i = 0; may_follow && i < table_of_tasks_.at(task).dependencies; ++i) {
      task_key const key = table_of_tasks_.dependency(task, i);
      if (!key.is_task()) { continue; }
      if (std::uint32_t const before = find(key); before != none) {
        edges_.push_back({before, static_cast<std::uint16_t>(device_), false});
      } else if (!elsewhere.together.empty()) {
        add_edge_elsewhere(key, elsewhere);
      }
    }
    nodes_.push_back({first, static_cast<std::uint32_t>(edges_.size()) - first, waves_, 0});
    if (edges_.size() > max_edges) {
      nodes_.resize(nodes);
      edges_.resize(edges);
      return false;
    }
  }
  // Tasks of one wave do not wait for each other, so `find` need not find them before.
  for (slot_address const task : tasks) {
    auto const position = static_cast<std::uint32_t>(tasks_.size());
    std::size_t const place = place_of(task);
    tasks_.push_back(task);
    table_[place] = position;
  }
  ++waves_;
  return true;
}

void grid_order::set_ends(std::span<std::uint32_t const> words) noexcept {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    nodes_[i].ended =
        words[i] + static_cast<std::uint32_t>(blocks_of(table_of_tasks_.at(tasks_[i])));
  }
}

}  // namespace flotilla::dispatch
