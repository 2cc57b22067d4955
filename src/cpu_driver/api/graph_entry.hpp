#pragma once
// What entries of graphs have in common: their handles, checked.

#include <cuda.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "cpu_driver/entry.hpp"

namespace flotilla::cpu_driver {

/// An entry that acts on a graph.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_graph(char const* entry, CUgraph handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&](driver_state& state) {
    auto const found = state.graphs().find(handle);
    return found ? body(*found) : CUDA_ERROR_INVALID_VALUE;
  });
}

/// An entry that acts on a node: `body(graph&, std::uint32_t index)`.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_node(char const* entry, CUgraphNode handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&](driver_state& state) {
    auto const place = state.graph_nodes().find(handle);
    if (!place) { return CUDA_ERROR_INVALID_VALUE; }
    auto const of = state.graphs().find(place->of);
    return of ? body(*of, place->index) : CUDA_ERROR_INVALID_VALUE;
  });
}

/// An entry that acts on what a node of one kind does: `body(graph_node&, Work&)`.
template <class Work, when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_work(char const* entry, CUgraphNode handle, Body&& body) noexcept {
  return with_node<rule>(entry, handle, [&](graph& of, std::uint32_t index) {
    return of.change(index, [&](graph_node& node) {
      auto* const work = std::get_if<Work>(&node.work);
      return work != nullptr ? body(node, *work) : CUDA_ERROR_INVALID_VALUE;
    });
  });
}

/// An entry that acts on an executable graph: `body(std::shared_ptr<executable_graph> const&)`.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_exec(char const* entry, CUgraphExec handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&](driver_state& state) {
    auto const found = state.graph_execs().find(handle);
    return found ? body(found->what()) : CUDA_ERROR_INVALID_VALUE;
  });
}

/// A list as these entries return one: `count` alone where `to` is null; else at most *count of
/// them, the rest of `to` null, and *count how many were written.
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
