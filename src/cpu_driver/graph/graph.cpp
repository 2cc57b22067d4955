// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/graph/graph.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

namespace flotilla::cpu_driver {
namespace {

bool waits(node_work const& work) noexcept {
  if (std::holds_alternative<wait_work>(work)) { return true; }
  auto const* const operations = std::get_if<memory_ops_work>(&work);
  return operations != nullptr &&
         std::any_of(operations->operations.begin(), operations->operations.end(), &is_wait);
}

bool contains(std::vector<std::uint32_t> const& all, std::uint32_t wanted) noexcept {
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

/// Sorts a copy, because a node may have thousands of dependencies.
bool has_duplicates(std::vector<std::uint32_t> all) {
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end()) != all.end();
}

}  // namespace

graph::graph(CUgraph self, graph const& original) : self_(self), original_(original.self_) {
  std::lock_guard const lock(original.mutex_);
  nodes_.resize(original.nodes_.size());
  try {
    for (auto const& each : original.nodes_) {
      if (!each) { continue; }
      auto copy = std::make_unique<graph_node>(*each);
      copy->addresses.clear();
      copy->self = node_place::table().open(self_, each->index)->self;
      nodes_[each->index] = std::move(copy);
    }
  } catch (...) {
    for (auto const& each : nodes_) {
      if (each) { node_place::table().close(each->self); }
    }
    throw;
  }
}

graph::~graph() {
  for (auto const& each : nodes_) {
    if (each) { node_place::table().close(each->self); }
  }
}

graph_node* graph::at(std::uint32_t index) const noexcept {
  return index < nodes_.size() ? nodes_[index].get() : nullptr;
}

graph_node* graph::own(CUgraphNode handle) const {
  auto const place = node_place::table().find(handle);
  return place && place->owner == self_ ? at(place->index) : nullptr;
}

CUresult graph::own_all(std::span<CUgraphNode const> named, std::vector<graph_node*>& found) const {
  found.reserve(named.size());
  for (CUgraphNode const handle : named) {
    graph_node* const node = own(handle);
    if (node == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    found.push_back(node);
  }
  return CUDA_SUCCESS;
}

CUresult graph::add(CUgraphNode& made, std::span<CUgraphNode const> after, node_work work) {
  std::lock_guard const lock(mutex_);
  auto node = std::make_unique<graph_node>();
  std::vector<graph_node*> before;
  if (CUresult const status = own_all(after, before)) { return status; }
  node->after.reserve(before.size());
  for (graph_node const* each : before) { node->after.push_back(each->index); }
  if (before.size() > 1 && has_duplicates(node->after)) { return CUDA_ERROR_INVALID_VALUE; }
  node->index = static_cast<std::uint32_t>(nodes_.size());
  node->work = std::move(work);
  // The growth of the vector may throw. So it happens before the handle is created.
  std::unique_ptr<graph_node>& place = nodes_.emplace_back();
  try {
    node->self = node_place::table().open(self_, node->index)->self;
  } catch (...) {
    nodes_.pop_back();
    throw;
  }
  made = node->self;
  place = std::move(node);
  return CUDA_SUCCESS;
}

CUresult graph::remove(CUgraphNode which) {
  std::lock_guard const lock(mutex_);
  graph_node const* const node = own(which);
  if (node == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  std::uint32_t const index = node->index;
  for (auto const& each : nodes_) {
    if (each) { std::erase(each->after, index); }
  }
  nodes_[index].reset();
  node_place::table().close(which);
  return CUDA_SUCCESS;
}

CUresult graph::add_edges(std::span<CUgraphNode const> from, std::span<CUgraphNode const> to) {
  std::lock_guard const lock(mutex_);
  std::vector<graph_node*> starts;
  std::vector<graph_node*> ends;
  if (CUresult const status = own_all(from, starts)) { return status; }
  if (CUresult const status = own_all(to, ends)) { return status; }
  std::size_t added = 0;
  bool good = true;
  for (; good && added < starts.size(); ++added) {
    auto& after = ends[added]->after;
    if (starts[added] == ends[added] || contains(after, starts[added]->index)) {
      good = false;
      break;
    }
    try {
      after.push_back(starts[added]->index);
    } catch (...) {
      while (added-- > 0) { ends[added]->after.pop_back(); }
      throw;
    }
  }
  if (good) { return CUDA_SUCCESS; }
  // Removes the added edges, newest first. So each edge is the last element of its list when
  // pop_back() removes it.
  while (added-- > 0) { ends[added]->after.pop_back(); }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult graph::remove_edges(std::span<CUgraphNode const> from, std::span<CUgraphNode const> to) {
  std::lock_guard const lock(mutex_);
  std::vector<graph_node*> starts;
  std::vector<graph_node*> ends;
  if (CUresult const status = own_all(from, starts)) { return status; }
  if (CUresult const status = own_all(to, ends)) { return status; }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (!contains(ends[i]->after, starts[i]->index)) { return CUDA_ERROR_INVALID_VALUE; }
    for (std::size_t j = 0; j < i; ++j) {
      if (starts[j] == starts[i] && ends[j] == ends[i]) { return CUDA_ERROR_INVALID_VALUE; }
    }
  }
  for (std::size_t i = 0; i < starts.size(); ++i) { std::erase(ends[i]->after, starts[i]->index); }
  return CUDA_SUCCESS;
}

std::vector<CUgraphNode> graph::nodes() const {
  std::lock_guard const lock(mutex_);
  std::vector<CUgraphNode> found;
  for (auto const& each : nodes_) {
    if (each) { found.push_back(each->self); }
  }
  return found;
}

std::vector<CUgraphNode> graph::roots() const {
  std::lock_guard const lock(mutex_);
  std::vector<CUgraphNode> found;
  for (auto const& each : nodes_) {
    if (each && each->after.empty()) { found.push_back(each->self); }
  }
  return found;
}

std::vector<graph::edge> graph::edges() const {
  std::lock_guard const lock(mutex_);
  std::vector<edge> found;
  for (auto const& each : nodes_) {
    if (!each) { continue; }
    for (std::uint32_t const before : each->after) {
      found.emplace_back(nodes_[before]->self, each->self);
    }
  }
  return found;
}

std::vector<CUgraphNode> graph::dependencies(std::uint32_t index) const {
  std::lock_guard const lock(mutex_);
  std::vector<CUgraphNode> found;
  if (graph_node const* const node = at(index)) {
    for (std::uint32_t const before : node->after) { found.push_back(nodes_[before]->self); }
  }
  return found;
}

std::vector<CUgraphNode> graph::dependents(std::uint32_t index) const {
  std::lock_guard const lock(mutex_);
  std::vector<CUgraphNode> found;
  for (auto const& each : nodes_) {
    if (each && contains(each->after, index)) { found.push_back(each->self); }
  }
  return found;
}

CUgraphNode graph::node_at(std::uint32_t index) const {
  std::lock_guard const lock(mutex_);
  graph_node const* const node = at(index);
  return node != nullptr ? node->self : nullptr;
}

CUresult graph::plan(std::vector<planned_node>& steps, CUgraphNode& offender) const {
  std::lock_guard const lock(mutex_);
  std::vector<std::size_t> missing(nodes_.size());
  // The followers of the node `i` are the elements from begins[i] to begins[i + 1].
  std::vector<std::size_t> begins(nodes_.size() + 1);
  using candidate = std::pair<bool, std::uint32_t>;  // (waits, index); the smallest runs first
  std::priority_queue<candidate, std::vector<candidate>, std::greater<>> ready;
  std::size_t left = 0;
  for (auto const& each : nodes_) {
    if (!each) { continue; }
    ++left;
    missing[each->index] = each->after.size();
    for (std::uint32_t const before : each->after) { ++begins[before + 1]; }
    if (each->after.empty()) { ready.emplace(waits(each->work), each->index); }
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<std::uint32_t> followers(begins.back());
  std::vector<std::size_t> ends = begins;  // behind the followers that are already stored
  for (auto const& each : nodes_) {
    if (!each) { continue; }
    for (std::uint32_t const before : each->after) { followers[ends[before]++] = each->index; }
  }
  std::vector<std::uint32_t> step_of(nodes_.size());
  steps.reserve(left);
  while (!ready.empty()) {
    graph_node const& next = *nodes_[ready.top().second];
    ready.pop();
    std::vector<std::uint32_t> after;
    after.reserve(next.after.size());
    for (std::uint32_t const before : next.after) { after.push_back(step_of[before]); }
    std::sort(after.begin(), after.end());
    step_of[next.index] = static_cast<std::uint32_t>(steps.size());
    steps.push_back({next.self, next.index, std::move(after), next.work});
    for (std::size_t i = begins[next.index]; i < begins[next.index + 1]; ++i) {
      std::uint32_t const follower = followers[i];
      if (--missing[follower] == 0) { ready.emplace(waits(nodes_[follower]->work), follower); }
    }
  }
  if (steps.size() == left) { return CUDA_SUCCESS; }
  // The graph has a cycle. Each unplanned node depends on at least one other unplanned node.
  // Following these dependencies `left` times leads to a node of a cycle.
  auto const stuck = [&](std::uint32_t index) { return missing[index] != 0; };
  std::uint32_t at_node = 0;
  while (!nodes_[at_node] || !stuck(at_node)) { ++at_node; }
  for (std::size_t step = 0; step < left; ++step) {
    auto const& after = nodes_[at_node]->after;
    at_node = *std::find_if(after.begin(), after.end(), stuck);
  }
  offender = nodes_[at_node]->self;
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace flotilla::cpu_driver
