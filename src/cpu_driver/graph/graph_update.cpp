// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Copies the parameters of a graph into an executable graph with the same topology. If one node
// cannot be updated, no node is updated.
#include <algorithm>

#include "cpu_driver/graph/graph_exec.hpp"

namespace flotilla::cpu_driver {
namespace {

/// Returns the reason why the node `mine` cannot take over the parameters of `other`, or
/// CU_GRAPH_EXEC_UPDATE_SUCCESS.
CUgraphExecUpdateResult compare(node_work const& mine, node_work const& other) noexcept {
  if (mine.index() != other.index()) { return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED; }
  if (auto const* const kernel = std::get_if<kernel_work>(&mine)) {
    return kernel->owner == std::get_if<kernel_work>(&other)->owner
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
  }
  if (auto const* const operations = std::get_if<memory_ops_work>(&mine)) {
    auto const& others = *std::get_if<memory_ops_work>(&other);
    bool const same = std::equal(
        operations->operations.begin(), operations->operations.end(), others.operations.begin(),
        others.operations.end(),
        [](auto const& left, auto const& right) { return left.operation == right.operation; });
    return same && operations->owner == others.owner
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace

CUresult executable_graph::update(graph const& from, CUgraphExecUpdateResultInfo& result) {
  auto const refuse = [&](CUgraphExecUpdateResult why, CUgraphNode node) {
    result = {.result = why, .errorNode = node, .errorFromNode = nullptr};
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  };
  std::vector<planned_node> others;
  CUgraphNode offender = nullptr;
  if (from.plan(others, offender) != CUDA_SUCCESS) {
    return refuse(CU_GRAPH_EXEC_UPDATE_ERROR, offender);
  }
  std::lock_guard const lock(mutex_);
  if (others.size() != steps_.size()) {
    return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
  }
  std::vector<graph_step> changed_steps;
  changed_steps.reserve(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    planned_node& other = others[i];
    if (other.after != steps_[i].after) {
      return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, other.self);
    }
    if (auto const why = compare(steps_[i].work, other.work); why != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
      return refuse(why, other.self);
    }
    changed_steps.push_back({.enabled = steps_[i].enabled,
                             .after = std::move(other.after),
                             .work = std::move(other.work)});
  }
  // From here on, no call can fail.
  steps_.swap(changed_steps);
  for (std::size_t i = 0; i < steps_.size(); ++i) { changed(i); }
  result = {.result = CU_GRAPH_EXEC_UPDATE_SUCCESS, .errorNode = nullptr, .errorFromNode = nullptr};
  return CUDA_SUCCESS;
}

}  // namespace flotilla::cpu_driver
