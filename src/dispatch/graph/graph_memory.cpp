// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/graph_memory.hpp"

#include <array>
#include <cstdint>

#include "dispatch/graph/builtin_kernels.hpp"

namespace flotilla::dispatch {

namespace {

constexpr unsigned chains = 4;

// Instantiates and uploads a graph of `chains` nodes without edges. Returns null on failure.
CUgraphExec make_one(driver::table const& api, CUDA_KERNEL_NODE_PARAMS const& node,
                     CUstream stream) noexcept {
  CUgraph graph = nullptr;
  if (api.graph_create(&graph, 0) != CUDA_SUCCESS) { return nullptr; }
  CUresult answer = CUDA_SUCCESS;
  for (unsigned i = 0; i < chains && answer == CUDA_SUCCESS; ++i) {
    CUgraphNode added = nullptr;
    answer = api.graph_add_kernel_node(&added, graph, nullptr, 0, &node);
  }
  CUgraphExec made = nullptr;
  if (answer == CUDA_SUCCESS) { answer = api.graph_instantiate_with_flags(&made, graph, 0); }
  api.graph_destroy(graph);
  if (answer != CUDA_SUCCESS) { return nullptr; }
  static_cast<void>(api.graph_upload(made, stream));
  return made;
}

}  // namespace

void reserve_graph_memory(context::context_handle const& context, CUfunction any,
                          CUstream stream) noexcept {
  driver::table const& api = context.api();
  if (api.graph_create == nullptr || api.graph_add_kernel_node == nullptr ||
      api.graph_instantiate_with_flags == nullptr || api.graph_upload == nullptr) {
    return;
  }
  CUdeviceptr address = 0;
  std::uint64_t number = 0;
  std::array<void*, 2> arguments{&address, &number};
  CUDA_KERNEL_NODE_PARAMS const node = one_block(any, 1, arguments.data());
  std::array<CUgraphExec, reserved_chains / chains> made{};
  for (CUgraphExec& each : made) {
    each = make_one(api, node, stream);
    if (each == nullptr) { break; }
  }
  static_cast<void>(api.stream_synchronize(stream));
  for (CUgraphExec const each : made) {
    if (each != nullptr) { api.graph_exec_destroy(each); }
  }
}

}  // namespace flotilla::dispatch
