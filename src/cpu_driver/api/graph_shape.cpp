// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points that change the edges of a graph, or query its nodes and edges.
#include <algorithm>
#include <span>

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/graph_entry.hpp"

namespace flotilla::cpu_driver {
namespace {

/// Whether all edges are full dependencies without ports. CPU devices do not support ports or
/// programmatic edges.
bool plain(CUgraphEdgeData const* data, std::size_t count) noexcept {
  return data == nullptr || std::all_of(data, data + count, [](CUgraphEdgeData const& each) {
           return each.from_port == 0 && each.to_port == 0 && each.type == 0;
         });
}

using edge_change = CUresult (graph::*)(std::span<CUgraphNode const>, std::span<CUgraphNode const>);

CUresult change_edges(char const* entry, CUgraph handle, CUgraphNode const* from,
                      CUgraphNode const* to, CUgraphEdgeData const* data, std::size_t count,
                      edge_change change) noexcept {
  return with_graph(entry, handle, [&](graph& found) {
    if (count == 0) { return CUDA_SUCCESS; }
    if (from == nullptr || to == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    if (!plain(data, count)) { return CUDA_ERROR_NOT_SUPPORTED; }
    return (found.*change)({from, count}, {to, count});
  });
}

void answer_plain(CUgraphEdgeData* to, std::size_t count) noexcept {
  if (to != nullptr) { std::fill_n(to, count, CUgraphEdgeData{}); }
}

CUresult answer_neighbours(std::vector<CUgraphNode> const& found, CUgraphNode* to,
                           CUgraphEdgeData* data, std::size_t* count) noexcept {
  if (to == nullptr && data != nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (CUresult const status = answer_list(found, to, count)) { return status; }
  answer_plain(data, *count);
  return CUDA_SUCCESS;
}

}  // namespace

FLOTILLA_CPU_API CUresult cuGraphAddDependencies_v2(CUgraph handle, CUgraphNode const* from,
                                                    CUgraphNode const* to,
                                                    CUgraphEdgeData const* data,
                                                    std::size_t count) {
  return change_edges(__func__, handle, from, to, data, count, &graph::add_edges);
}

FLOTILLA_CPU_API CUresult cuGraphRemoveDependencies_v2(CUgraph handle, CUgraphNode const* from,
                                                       CUgraphNode const* to,
                                                       CUgraphEdgeData const* data,
                                                       std::size_t count) {
  return change_edges(__func__, handle, from, to, data, count, &graph::remove_edges);
}

FLOTILLA_CPU_API CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  return with_graph(__func__, handle,
                    [&](graph& found) { return answer_list(found.nodes(), nodes, count); });
}

FLOTILLA_CPU_API CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes,
                                              std::size_t* count) {
  return with_graph(__func__, handle,
                    [&](graph& found) { return answer_list(found.roots(), nodes, count); });
}

FLOTILLA_CPU_API CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode* from, CUgraphNode* to,
                                             CUgraphEdgeData* data, std::size_t* count) {
  return with_graph(__func__, handle, [&](graph& found) {
    bool const all = from != nullptr && to != nullptr;
    bool const none = from == nullptr && to == nullptr && data == nullptr;
    if (count == nullptr || (!all && !none)) { return CUDA_ERROR_INVALID_VALUE; }
    auto const edges = found.edges();
    std::vector<CUgraphNode> starts;
    std::vector<CUgraphNode> ends;
    for (auto const& [start, end] : edges) {
      starts.push_back(start);
      ends.push_back(end);
    }
    std::size_t also = *count;
    if (CUresult const status = answer_list(starts, from, count)) { return status; }
    static_cast<void>(answer_list(ends, to, &also));
    answer_plain(data, *count);
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return with_node(__func__, handle, [&](graph& owner, std::uint32_t index) {
    if (type == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return owner.change(index, [&](graph_node const& node) {
      *type = type_of(node.work);
      return CUDA_SUCCESS;
    });
  });
}

FLOTILLA_CPU_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode* nodes,
                                                        CUgraphEdgeData* data, std::size_t* count) {
  return with_node(__func__, handle, [&](graph& owner, std::uint32_t index) {
    return answer_neighbours(owner.dependencies(index), nodes, data, count);
  });
}

FLOTILLA_CPU_API CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode* nodes,
                                                          CUgraphEdgeData* data,
                                                          std::size_t* count) {
  return with_node(__func__, handle, [&](graph& owner, std::uint32_t index) {
    return answer_neighbours(owner.dependents(index), nodes, data, count);
  });
}

}  // namespace flotilla::cpu_driver
