// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/memory_node.hpp"

#include <cstring>

namespace flotilla::dispatch {

namespace {

CUDA_MEMCPY3D copy_parameters(detail::memory_command const& what) {
  CUDA_MEMCPY3D made{};
  // CU_MEMORYTYPE_DEVICE means memory of the node's context. For a copy between devices, the driver
  // must find the device of each address itself.
  bool const is_between_devices =
      what.kind == memory_op_kind::device_to_device && what.device != what.from_device;
  made.srcMemoryType = made.dstMemoryType =
      is_between_devices ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_DEVICE;
  made.srcDevice = what.from;
  made.dstDevice = what.to;
  if (what.kind == memory_op_kind::host_to_device) {
    made.srcMemoryType = CU_MEMORYTYPE_HOST;
    made.srcHost = reinterpret_cast<void const*>(what.from);
  } else if (what.kind == memory_op_kind::device_to_host) {
    made.dstMemoryType = CU_MEMORYTYPE_HOST;
    made.dstHost = reinterpret_cast<void*>(what.to);
  }
  made.WidthInBytes = what.bytes;
  made.Height = made.Depth = 1;
  return made;
}

CUDA_MEMSET_NODE_PARAMS fill_parameters(detail::memory_command const& what) {
  CUDA_MEMSET_NODE_PARAMS made{};
  unsigned value = 0;  // recorder::check refuses patterns longer than `value`
  std::memcpy(&value, what.pattern, what.pattern_bytes);
  made.dst = what.to;
  made.value = value;
  made.elementSize = what.pattern_bytes;
  made.width = what.bytes / what.pattern_bytes;
  made.height = 1;
  return made;
}

}  // namespace

driver::call_outcome add_memory_node(context::context_handle const& context, CUgraph graph,
                                     CUgraphNode& made, std::span<CUgraphNode const> ahead,
                                     detail::memory_command const& what) {
  driver::table const& api = context.api();
  if (what.kind == memory_op_kind::fill) {
    CUDA_MEMSET_NODE_PARAMS const fill = fill_parameters(what);
    return {api.graph_add_memset_node(&made, graph, ahead.data(), ahead.size(), &fill,
                                      context.handle()),
            "cuGraphAddMemsetNode"};
  }
  CUDA_MEMCPY3D const copy = copy_parameters(what);
  return {
      api.graph_add_memcpy_node(&made, graph, ahead.data(), ahead.size(), &copy, context.handle()),
      "cuGraphAddMemcpyNode"};
}

driver::call_outcome rewrite_memory_node(context::context_handle const& context, CUgraphExec exec,
                                         CUgraphNode node, detail::memory_command const& what) {
  driver::table const& api = context.api();
  if (what.kind == memory_op_kind::fill) {
    CUDA_MEMSET_NODE_PARAMS const fill = fill_parameters(what);
    return {api.graph_exec_memset_node_set_params(exec, node, &fill, context.handle()),
            "cuGraphExecMemsetNodeSetParams"};
  }
  CUDA_MEMCPY3D const copy = copy_parameters(what);
  return {api.graph_exec_memcpy_node_set_params(exec, node, &copy, context.handle()),
          "cuGraphExecMemcpyNodeSetParams"};
}

}  // namespace flotilla::dispatch
