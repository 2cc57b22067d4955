// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes, their parameters, and executables.
#include <span>
#include <type_traits>

#include "isolation/calls/calls.hpp"
#include "isolation/calls/forward.hpp"
#include "isolation/calls/kernel_parameters.hpp"
#include "isolation/calls/never_throws.hpp"
#include "isolation/calls/target.hpp"

namespace flotilla::isolated {

namespace {

using api = driver::table;

/// The parameters of a node, on their way into a request. `check` comes before the session, because
/// it may make calls.
struct kernel_node {
  CUDA_KERNEL_NODE_PARAMS_v2 const& from;
  std::vector<std::uint32_t> const* sizes = nullptr;
  CUresult check(isolated_device& on) {
    if (from.extra != nullptr) { return CUDA_ERROR_NOT_SUPPORTED; }
    return parameters_of(on, from.func, sizes);
  }
  void put(session& to) const {
    to.put_object(forwarded_call::index_of(from.func));
    to.out().put(launch_geometry{{from.gridDimX, from.gridDimY, from.gridDimZ},
                                 {from.blockDimX, from.blockDimY, from.blockDimZ},
                                 from.sharedMemBytes});
    put_parameters(to.out(), *sizes, from.kernelParams);
  }
};

CUresult check_context(CUcontext context) {
  bool const is_valid =
      context == nullptr || is_open(handle_bits::of(context), object_kind::context);
  return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

struct batch_mem_op_node {
  CUDA_BATCH_MEM_OP_NODE_PARAMS const& from;
  CUresult check(isolated_device&) const { return check_context(from.ctx); }
  void put(session& to) const {
    to.put_object(forwarded_call::index_of(from.ctx));
    to.out().put(from.flags);
    to.out().put(from.count);
    to.out().put_bytes(from.paramArray, from.count * sizeof *from.paramArray);
  }
};

template <class Parameters>
struct memory_node {
  Parameters const& from;
  CUcontext context;
  CUresult check(isolated_device& on) const {
    bool is_here = true;
    if constexpr (std::is_same_v<Parameters, CUDA_MEMCPY3D>) {
      is_here = !is_of_other_device(from.srcDevice, on.ordinal()) &&
                !is_of_other_device(from.dstDevice, on.ordinal());
    } else {
      is_here = !is_of_other_device(from.dst, on.ordinal());
    }
    return is_here ? check_context(context) : CUDA_ERROR_NOT_SUPPORTED;
  }
  void put(session& to) const {
    to.out().put(from);
    to.put_object(forwarded_call::index_of(context));
  }
};

target target_of_graph(CUgraph graph) {
  target to;
  to.look(graph);
  to.decide();
  return to;
}

template <class Node>
CUresult add(target const& to, operation what, CUgraphNode* made, CUgraph graph,
             std::span<CUgraphNode const> ahead, Node node) {
  isolated_device& on = *to.device;
  if (made == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (!is_open(handle_bits::of(graph), object_kind::graph)) { return CUDA_ERROR_INVALID_VALUE; }
  std::lock_guard const lock{on.mutex()};
  if (CUresult const lost = to.lost(); lost != CUDA_SUCCESS) { return lost; }
  std::vector<std::uint32_t> indices;
  for (CUgraphNode const each : ahead) {
    if (!is_open(handle_bits::of(each), object_kind::graph_node)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    indices.push_back(forwarded_call::index_of(each));
  }
  if (CUresult const status = node.check(on); status != CUDA_SUCCESS) { return status; }
  send_posted(on);
  std::uint32_t const index = index_for(on, object_kind::graph_node);
  if (index == 0) { return CUDA_ERROR_OUT_OF_MEMORY; }
  session one{on, what, to.context, to.user()};
  one.out().put(index);
  one.put_object(forwarded_call::index_of(graph));
  one.put_objects(indices);
  node.put(one);
  handle_bits const handle = remember(on, object_kind::graph_node, index, one);
  if (CUresult const answer = one.send(); answer != CUDA_SUCCESS) {
    forget_new(on, object_kind::graph_node, index);
    return answer;
  }
  *made = handle.as<CUgraphNode>();
  return CUDA_SUCCESS;
}

template <class Node>
CUresult set(target const& to, operation what, CUgraphExec exec, CUgraphNode which, Node node) {
  isolated_device& on = *to.device;
  if (!is_open(handle_bits::of(exec), object_kind::graph_exec) ||
      !is_open(handle_bits::of(which), object_kind::graph_node)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::lock_guard const lock{on.mutex()};
  if (CUresult const lost = to.lost(); lost != CUDA_SUCCESS) { return lost; }
  if (CUresult const status = node.check(on); status != CUDA_SUCCESS) { return status; }
  if (!on.posted().has_room(max_request_bytes / 2)) { send_posted(on); }
  session one{on, what, to.context, to.user()};
  one.put_object(forwarded_call::index_of(exec));
  one.put_object(forwarded_call::index_of(which));
  node.put(one);
  std::uint32_t const index = forwarded_call::index_of(exec);
  std::uint64_t const key = change_key(what, one.request());
  record change = one.recorded();
  on.objects().expect_change(index, key);
  if (CUresult const answer = one.post(); answer != CUDA_SUCCESS) { return answer; }
  on.objects().change(index, key, std::move(change));
  return CUDA_SUCCESS;
}

target target_of(CUgraphExec exec) {
  target to;
  to.look(exec);
  to.decide();
  return to;
}

// Of the entries below, each adds a node to a graph or sets the parameters of a node in an
// executable. They differ in the types of the parameters only.

CUresult CUDAAPI add_kernel(CUgraphNode* made, CUgraph graph, CUgraphNode const* ahead,
                            std::size_t count, CUDA_KERNEL_NODE_PARAMS_v2 const* node) {
  target const to = target_of_graph(graph);
  if (to.device == nullptr) {
    return base().graph_add_kernel_node(made, graph, ahead, count, node);
  }
  if (node == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  return add(to, operation::graph_add_kernel_node, made, graph, {ahead, count}, kernel_node{*node});
}

CUresult CUDAAPI set_kernel(CUgraphExec exec, CUgraphNode which,
                            CUDA_KERNEL_NODE_PARAMS_v2 const* node) {
  target const to = target_of(exec);
  if (to.device == nullptr) { return base().graph_exec_kernel_node_set_params(exec, which, node); }
  if (node == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  return set(to, operation::graph_exec_kernel_node_set_params, exec, which, kernel_node{*node});
}

CUresult CUDAAPI add_mem_ops(CUgraphNode* made, CUgraph graph, CUgraphNode const* ahead,
                             std::size_t count, CUDA_BATCH_MEM_OP_NODE_PARAMS const* node) {
  target const to = target_of_graph(graph);
  if (to.device == nullptr) {
    return base().graph_add_batch_mem_op_node(made, graph, ahead, count, node);
  }
  if (node == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  return add(to, operation::graph_add_batch_mem_op_node, made, graph, {ahead, count},
             batch_mem_op_node{*node});
}

CUresult CUDAAPI set_mem_ops(CUgraphExec exec, CUgraphNode which,
                             CUDA_BATCH_MEM_OP_NODE_PARAMS const* node) {
  target const to = target_of(exec);
  if (to.device == nullptr) {
    return base().graph_exec_batch_mem_op_node_set_params(exec, which, node);
  }
  if (node == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  return set(to, operation::graph_exec_batch_mem_op_node_set_params, exec, which,
             batch_mem_op_node{*node});
}

// Copies and fills have entries of one shape.
template <class Parameters, operation What, auto Entry>
CUresult CUDAAPI add_memory(CUgraphNode* made, CUgraph graph, CUgraphNode const* ahead,
                            std::size_t count, Parameters const* node, CUcontext context) {
  target const to = target_of_graph(graph);
  if (to.device == nullptr) { return (base().*Entry)(made, graph, ahead, count, node, context); }
  if (node == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  return add(to, What, made, graph, {ahead, count}, memory_node<Parameters>{*node, context});
}

template <class Parameters, operation What, auto Entry>
CUresult CUDAAPI set_memory(CUgraphExec exec, CUgraphNode which, Parameters const* node,
                            CUcontext context) {
  target const to = target_of(exec);
  if (to.device == nullptr) { return (base().*Entry)(exec, which, node, context); }
  if (node == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  return set(to, What, exec, which, memory_node<Parameters>{*node, context});
}

CUresult CUDAAPI instantiate(CUgraphExec* made, CUgraph graph,
                             CUDA_GRAPH_INSTANTIATE_PARAMS* with) {
  target const to = target_of_graph(graph);
  if (to.device == nullptr) { return base().graph_instantiate_with_params(made, graph, with); }
  if (made == nullptr || with == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  if (with->hUploadStream != nullptr) { return CUDA_ERROR_NOT_SUPPORTED; }
  if (!is_open(handle_bits::of(graph), object_kind::graph)) { return CUDA_ERROR_INVALID_VALUE; }
  isolated_device& on = *to.device;
  std::lock_guard const lock{on.mutex()};
  if (CUresult const lost = to.lost(); lost != CUDA_SUCCESS) { return lost; }
  send_posted(on);
  std::uint32_t const index = index_for(on, object_kind::graph_exec);
  if (index == 0) { return CUDA_ERROR_OUT_OF_MEMORY; }
  session one{on, operation::graph_instantiate_with_params, to.context, to.user()};
  one.out().put(index);
  one.put_object(forwarded_call::index_of(graph));
  one.out().put(with->flags);
  one.out().put(on.objects().limit());
  handle_bits const handle = remember(on, object_kind::graph_exec, index, one);
  CUresult const answer = one.send();
  with->result_out = static_cast<CUgraphInstantiateResult>(one.in().get<std::int32_t>());
  auto const wrong = one.in().get<std::uint32_t>();
  bool const is_node = wrong != 0 && wrong < on.objects().limit();
  with->hErrNode_out = is_node ? on.objects().handle_of(wrong).as<CUgraphNode>() : nullptr;
  if (answer != CUDA_SUCCESS) {
    forget_new(on, object_kind::graph_exec, index);
    return answer;
  }
  *made = handle.as<CUgraphExec>();
  return CUDA_SUCCESS;
}

/// Launches an executable, after the changes that were posted. If one of them fails, nothing is
/// launched, and the status is that of the change.
CUresult CUDAAPI launch(CUgraphExec exec, CUstream stream) {
  target to;
  to.look(exec);
  to.look(stream);
  to.decide();
  if (to.device == nullptr) { return base().graph_launch(exec, stream); }
  isolated_device& on = *to.device;
  handle_bits const bits = handle_bits::of(stream);
  if (!is_open(handle_bits::of(exec), object_kind::graph_exec)) { return CUDA_ERROR_INVALID_VALUE; }
  if (bits.value > 2 && !is_open(bits, object_kind::stream)) { return CUDA_ERROR_INVALID_HANDLE; }
  std::lock_guard const lock{on.mutex()};
  if (CUresult const lost = to.lost(); lost != CUDA_SUCCESS) { return lost; }
  posted_changes& posted = on.posted();
  if (CUresult const failed = posted.take_failure(); failed != CUDA_SUCCESS) { return failed; }
  struct {
    request_head head;
    std::uint32_t exec;
    std::uint32_t stream;
  } const request{{operation::graph_launch, 0, to.context},
                  forwarded_call::index_of(exec),
                  forwarded_call::index_of(stream)};
  session one{on, operation::batch, to.context, to.user()};
  one.out().put_bytes(posted.bytes().data(), posted.bytes().size());
  one.out().put(static_cast<std::uint32_t>(sizeof request));
  one.out().put(request);
  posted.clear();
  return one.enqueue();
}

}  // namespace

void put_graph_calls(driver::table& into) {
  auto const put = [](auto& entry, auto function) {
    if (entry != nullptr) { entry = function; }
  };
  put(into.graph_launch, never_throws<&launch>);
  put(into.graph_add_kernel_node, never_throws<&add_kernel>);
  put(into.graph_exec_kernel_node_set_params, never_throws<&set_kernel>);
  put(into.graph_add_batch_mem_op_node, never_throws<&add_mem_ops>);
  put(into.graph_exec_batch_mem_op_node_set_params, never_throws<&set_mem_ops>);
  put(into.graph_add_memcpy_node,
      never_throws<&add_memory<CUDA_MEMCPY3D, operation::graph_add_memcpy_node,
                               &api::graph_add_memcpy_node>>);
  put(into.graph_exec_memcpy_node_set_params,
      never_throws<&set_memory<CUDA_MEMCPY3D, operation::graph_exec_memcpy_node_set_params,
                               &api::graph_exec_memcpy_node_set_params>>);
  put(into.graph_add_memset_node,
      never_throws<&add_memory<CUDA_MEMSET_NODE_PARAMS, operation::graph_add_memset_node,
                               &api::graph_add_memset_node>>);
  put(into.graph_exec_memset_node_set_params,
      never_throws<
          &set_memory<CUDA_MEMSET_NODE_PARAMS, operation::graph_exec_memset_node_set_params,
                      &api::graph_exec_memset_node_set_params>>);
  put(into.graph_instantiate_with_params, never_throws<&instantiate>);
}

}  // namespace flotilla::isolated
