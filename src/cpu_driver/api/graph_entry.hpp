// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The handle checks that the entry points for graphs share.

#include <cuda.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/graph/graph.hpp"
#include "cpu_driver/graph/graph_exec.hpp"

namespace flotilla::cpu_driver {

/// Implements an entry point that acts on a graph.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_graph(char const* entry, CUgraph handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    auto const found = graph::table().find(handle);
    return found ? body(*found) : CUDA_ERROR_INVALID_VALUE;
  });
}

/// Implements an entry point that acts on a node. Calls `body(graph&, std::uint32_t index)`.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_node(char const* entry, CUgraphNode handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    auto const place = node_place::table().find(handle);
    if (!place) { return CUDA_ERROR_INVALID_VALUE; }
    auto const owner = graph::table().find(place->owner);
    return owner ? body(*owner, place->index) : CUDA_ERROR_INVALID_VALUE;
  });
}

/// Implements an entry point that acts on a node whose parameters have the type `Work`. Calls
/// `body(graph_node&, Work&)`.
template <class Work, when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_work(char const* entry, CUgraphNode handle, Body&& body) noexcept {
  return with_node<rule>(entry, handle, [&](graph& owner, std::uint32_t index) {
    return owner.change(index, [&](graph_node& node) {
      auto* const work = std::get_if<Work>(&node.work);
      return work != nullptr ? body(node, *work) : CUDA_ERROR_INVALID_VALUE;
    });
  });
}

/// Implements an entry point that acts on an executable graph. Calls
/// `body(std::shared_ptr<executable_graph> const&)`.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_exec(char const* entry, CUgraphExec handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    auto const found = graph_exec::table().find(handle);
    return found ? body(found->graph()) : CUDA_ERROR_INVALID_VALUE;
  });
}

/// Copies the list `found` to the application's array `to`, which has *count elements. Fills the
/// remaining elements with null, and sets *count to the number of handles written. If `to` is null,
/// only sets *count to the length of the list.
template <class Handle>
CUresult answer_list(std::vector<Handle> const& found, Handle* to, std::size_t* count) noexcept {
  if (count == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (to == nullptr) {
    *count = found.size();
    return CUDA_SUCCESS;
  }
  std::size_t written = 0;
  for (std::size_t i = 0; i < *count; ++i) {
    to[i] = i < found.size() ? found[i] : nullptr;
    written += i < found.size() ? 1 : 0;
  }
  *count = written;
  return CUDA_SUCCESS;
}

}  // namespace flotilla::cpu_driver
