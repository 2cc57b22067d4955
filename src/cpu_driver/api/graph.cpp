// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points that create, clone and destroy graphs and their nodes.
#include <span>

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/graph_entry.hpp"
#include "cpu_driver/graph/graph.hpp"

namespace flotilla::cpu_driver {
namespace {

/// Adds a node. Calls `make(node_work&)` to set the parameters of the node.
template <class Make>
CUresult add_node(char const* entry, CUgraphNode* made, CUgraph to, CUgraphNode const* after,
                  std::size_t count, Make&& make) noexcept {
  return with_graph(entry, to, [&](graph& found) {
    if (made == nullptr || (after == nullptr && count != 0)) { return CUDA_ERROR_INVALID_VALUE; }
    node_work work;
    if (CUresult const status = make(work)) { return status; }
    return found.add(*made, {after, count}, std::move(work));
  });
}

template <class Work>
CUresult set_event(node_work& work, CUevent event_handle) {
  if (!event::table().find(event_handle)) { return CUDA_ERROR_INVALID_HANDLE; }
  work.emplace<Work>().event = event_handle;
  return CUDA_SUCCESS;
}

}  // namespace

FLOTILLA_CPU_API CUresult cuGraphCreate(CUgraph* made, unsigned flags) {
  return with_driver(__func__, [&] {
    if (made == nullptr || flags != 0) { return CUDA_ERROR_INVALID_VALUE; }
    *made = graph::table().open()->self();
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGraphDestroy(CUgraph handle) {
  return with_driver<when_poisoned::act_and_report>(__func__, [&] {
    return graph::table().close(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGraphAddKernelNode_v2(CUgraphNode* made, CUgraph to,
                                                  CUgraphNode const* after, std::size_t count,
                                                  CUDA_KERNEL_NODE_PARAMS const* wanted) {
  return add_node(__func__, made, to, after, count, [&](node_work& work) {
    return wanted != nullptr ? set_kernel(work.emplace<kernel_work>(), *wanted, nullptr)
                             : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGraphAddBatchMemOpNode(CUgraphNode* made, CUgraph to,
                                                   CUgraphNode const* after, std::size_t count,
                                                   CUDA_BATCH_MEM_OP_NODE_PARAMS const* wanted) {
  return add_node(__func__, made, to, after, count, [&](node_work& work) {
    return wanted != nullptr ? set_memory_ops(work.emplace<memory_ops_work>(), *wanted)
                             : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGraphAddMemcpyNode(CUgraphNode* made, CUgraph to,
                                               CUgraphNode const* after, std::size_t count,
                                               CUDA_MEMCPY3D const* wanted, CUcontext context) {
  return add_node(__func__, made, to, after, count, [&](node_work& work) {
    return wanted != nullptr ? set_copy(work.emplace<copy_work>(), *wanted, context)
                             : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGraphAddMemsetNode(CUgraphNode* made, CUgraph to,
                                               CUgraphNode const* after, std::size_t count,
                                               CUDA_MEMSET_NODE_PARAMS const* wanted,
                                               CUcontext context) {
  return add_node(__func__, made, to, after, count, [&](node_work& work) {
    return wanted != nullptr ? set_fill(work.emplace<fill_work>(), *wanted, context)
                             : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGraphAddEmptyNode(CUgraphNode* made, CUgraph to,
                                              CUgraphNode const* after, std::size_t count) {
  return add_node(__func__, made, to, after, count, [](node_work&) { return CUDA_SUCCESS; });
}

FLOTILLA_CPU_API CUresult cuGraphAddEventRecordNode(CUgraphNode* made, CUgraph to,
                                                    CUgraphNode const* after, std::size_t count,
                                                    CUevent event_handle) {
  return add_node(__func__, made, to, after, count,
                  [&](node_work& work) { return set_event<record_work>(work, event_handle); });
}

FLOTILLA_CPU_API CUresult cuGraphAddEventWaitNode(CUgraphNode* made, CUgraph to,
                                                  CUgraphNode const* after, std::size_t count,
                                                  CUevent event_handle) {
  return add_node(__func__, made, to, after, count,
                  [&](node_work& work) { return set_event<wait_work>(work, event_handle); });
}

FLOTILLA_CPU_API CUresult cuGraphAddHostNode(CUgraphNode* made, CUgraph to,
                                             CUgraphNode const* after, std::size_t count,
                                             CUDA_HOST_NODE_PARAMS const* wanted) {
  return add_node(__func__, made, to, after, count, [&](node_work& work) {
    if (wanted == nullptr || wanted->fn == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    work.emplace<call_host>(wanted->fn, wanted->userData);
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return with_node(__func__, handle,
                   [&](graph& owner, std::uint32_t) { return owner.remove(handle); });
}

FLOTILLA_CPU_API CUresult cuGraphClone(CUgraph* made, CUgraph original) {
  return with_graph(__func__, original, [&](graph& found) {
    if (made == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *made = graph::table().open(found)->self();
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGraphNodeFindInClone(CUgraphNode* found, CUgraphNode original,
                                                 CUgraph clone) {
  return with_graph(__func__, clone, [&](graph& in) {
    auto const place = node_place::table().find(original);
    if (found == nullptr || !place || in.original() != place->owner) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CUgraphNode const copy = in.node_at(place->index);
    if (copy == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *found = copy;
    return CUDA_SUCCESS;
  });
}

}  // namespace flotilla::cpu_driver
