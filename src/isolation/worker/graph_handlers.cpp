// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "isolation/worker/executor.hpp"
#include "isolation/worker/kernel_arguments.hpp"

namespace flotilla::isolated {

namespace {

/// The parameters of a kernel node. The object must outlive their use.
struct received_kernel_node {
  received_kernel_node(worker_parts& parts, message_reader& in)
      : function(parts.objects.get<CUfunction>(in.get<std::uint32_t>())),
        at(in.get<launch_geometry>()),
        arguments(in) {
    value.func = function;
    value.gridDimX = at.grid[0];
    value.gridDimY = at.grid[1];
    value.gridDimZ = at.grid[2];
    value.blockDimX = at.block[0];
    value.blockDimY = at.block[1];
    value.blockDimZ = at.block[2];
    value.sharedMemBytes = at.shared_bytes;
    value.kernelParams = arguments.pointers();
  }
  CUfunction function;
  launch_geometry at;
  kernel_arguments arguments;
  CUDA_KERNEL_NODE_PARAMS_v2 value{};
};

struct received_batch_node {
  received_batch_node(worker_parts& parts, message_reader& in) {
    value.ctx = parts.objects.get<CUcontext>(in.get<std::uint32_t>());
    value.flags = in.get<unsigned>();
    value.count = in.get<unsigned>();
    for (unsigned i = 0; i < value.count && in.ok(); ++i) {
      operations.push_back(in.get<CUstreamBatchMemOpParams>());
    }
    value.paramArray = operations.data();
  }
  std::vector<CUstreamBatchMemOpParams> operations;
  CUDA_BATCH_MEM_OP_NODE_PARAMS value{};
};

/// A copy or a fill, and its context.
template <class Parameters>
struct received_memory_node {
  received_memory_node(worker_parts& parts, message_reader& in)
      : value(in.get<Parameters>()),
        context(parts.objects.get<CUcontext>(in.get<std::uint32_t>())) {}
  Parameters value;
  CUcontext context;
};

/// The graph and the nodes ahead, with which each call that adds a node begins.
struct place_in_graph {
  place_in_graph(worker_parts& parts, message_reader& in)
      : index(in.get<std::uint32_t>()), graph(parts.objects.get<CUgraph>(in.get<std::uint32_t>())) {
    auto const count = in.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      ahead.push_back(parts.objects.get<CUgraphNode>(in.get<std::uint32_t>()));
    }
  }
  std::uint32_t index;
  CUgraph graph;
  std::vector<CUgraphNode> ahead;
};

template <class Node, auto Field>
CUresult add(worker_parts& parts, message_reader& in, message_writer&) {
  place_in_graph const place{parts, in};
  Node node{parts, in};
  auto const entry = parts.api.*Field;
  if (!in.ok()) { return CUDA_ERROR_INVALID_VALUE; }
  if (entry == nullptr) { return CUDA_ERROR_NOT_SUPPORTED; }
  CUgraphNode made = nullptr;
  CUresult answer = CUDA_SUCCESS;
  if constexpr (requires { node.context; }) {
    answer = entry(&made, place.graph, place.ahead.data(), place.ahead.size(), &node.value,
                   node.context);
  } else {
    answer = entry(&made, place.graph, place.ahead.data(), place.ahead.size(), &node.value);
  }
  if (answer == CUDA_SUCCESS) { parts.objects.set(place.index, made); }
  return answer;
}

template <class Node, auto Field>
CUresult set(worker_parts& parts, message_reader& in, message_writer&) {
  auto const exec = parts.objects.get<CUgraphExec>(in.get<std::uint32_t>());
  auto const which = parts.objects.get<CUgraphNode>(in.get<std::uint32_t>());
  Node node{parts, in};
  auto const entry = parts.api.*Field;
  if (!in.ok()) { return CUDA_ERROR_INVALID_VALUE; }
  if (entry == nullptr) { return CUDA_ERROR_NOT_SUPPORTED; }
  if constexpr (requires { node.context; }) {
    return entry(exec, which, &node.value, node.context);
  } else {
    return entry(exec, which, &node.value);
  }
}

CUresult do_instantiate(worker_parts& parts, message_reader& in, message_writer& out) {
  auto const index = in.get<std::uint32_t>();
  auto const graph = parts.objects.get<CUgraph>(in.get<std::uint32_t>());
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  parameters.flags = in.get<cuuint64_t>();
  auto const limit = in.get<std::uint32_t>();  // no object has a greater index
  if (parts.api.graph_instantiate_with_params == nullptr) { return CUDA_ERROR_NOT_SUPPORTED; }
  CUgraphExec made = nullptr;
  CUresult const answer = parts.api.graph_instantiate_with_params(&made, graph, &parameters);
  if (answer == CUDA_SUCCESS) { parts.objects.set(index, made); }
  std::uint32_t const wrong =
      parameters.hErrNode_out != nullptr
          ? parts.objects.find(parameters.hErrNode_out, std::min(limit, first_shared_object))
          : 0;
  out.put(static_cast<std::int32_t>(parameters.result_out));
  out.put(wrong);
  return answer;
}

using copy_node = received_memory_node<CUDA_MEMCPY3D>;
using fill_node = received_memory_node<CUDA_MEMSET_NODE_PARAMS>;
using api = driver::table;

}  // namespace

handler graph_handler(operation what) noexcept {
  switch (what) {
    case operation::graph_add_kernel_node:
      return &add<received_kernel_node, &api::graph_add_kernel_node>;
    case operation::graph_add_batch_mem_op_node:
      return &add<received_batch_node, &api::graph_add_batch_mem_op_node>;
    case operation::graph_add_memcpy_node: return &add<copy_node, &api::graph_add_memcpy_node>;
    case operation::graph_add_memset_node: return &add<fill_node, &api::graph_add_memset_node>;
    case operation::graph_exec_kernel_node_set_params:
      return &set<received_kernel_node, &api::graph_exec_kernel_node_set_params>;
    case operation::graph_exec_batch_mem_op_node_set_params:
      return &set<received_batch_node, &api::graph_exec_batch_mem_op_node_set_params>;
    case operation::graph_exec_memcpy_node_set_params:
      return &set<copy_node, &api::graph_exec_memcpy_node_set_params>;
    case operation::graph_exec_memset_node_set_params:
      return &set<fill_node, &api::graph_exec_memset_node_set_params>;
    case operation::graph_instantiate_with_params: return &do_instantiate;
    default: return nullptr;
  }
}

}  // namespace flotilla::isolated
