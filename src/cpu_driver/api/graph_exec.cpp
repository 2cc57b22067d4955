// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points that instantiate, rewrite and launch executable graphs.
#include "cpu_driver/graph/graph_exec.hpp"
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/graph_entry.hpp"
#include "cpu_driver/graph/graph.hpp"

namespace flotilla::cpu_driver {
namespace {

CUresult instantiate(CUgraphExec* made, CUgraph handle, unsigned long long flags,
                     CUgraphNode& offender) {
  constexpr unsigned long long known =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  auto const source = graph::table().find(handle);
  if (made == nullptr || !source || (flags & ~known) != 0) { return CUDA_ERROR_INVALID_VALUE; }
  // Kernels on CPU devices cannot launch graphs.
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) { return CUDA_ERROR_NOT_SUPPORTED; }
  std::vector<planned_node> steps;
  if (CUresult const status = source->plan(steps, offender)) { return status; }
  auto made_graph = std::make_shared<executable_graph>(
      handle, flags & ~static_cast<unsigned long long>(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD),
      std::move(steps));
  *made = graph_exec::table().open(std::move(made_graph))->self();
  return CUDA_SUCCESS;
}

template <class Work>
CUresult set_event(char const* entry, CUgraphExec handle, CUgraphNode node,
                   CUevent event_handle) noexcept {
  return with_exec(entry, handle, [&](auto const& found) {
    if (!event::table().find(event_handle)) { return CUDA_ERROR_INVALID_HANDLE; }
    return found->template rewrite<Work>(node, [&](Work& work) {
      work.event = event_handle;
      return CUDA_SUCCESS;
    });
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph handle,
                                                      unsigned long long flags) {
  return with_driver(__func__, [&] {
    CUgraphNode offender = nullptr;
    return instantiate(made, handle, flags, offender);
  });
}

FLOTILLA_CPU_API CUresult cuGraphInstantiateWithParams(CUgraphExec* made, CUgraph handle,
                                                       CUDA_GRAPH_INSTANTIATE_PARAMS* wanted) {
  return with_driver(__func__, [&] {
    if (wanted == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    CUgraphNode offender = nullptr;
    CUresult const status = instantiate(made, handle, wanted->flags, offender);
    wanted->hErrNode_out = offender;
    wanted->result_out = status == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                         : offender != nullptr  ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                                : CUDA_GRAPH_INSTANTIATE_ERROR;
    return status;
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return with_driver<when_poisoned::act_and_report>(__func__, [&] {
    return graph_exec::table().close(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (flags == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *flags = found->flags();
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec handle, CUgraphNode node,
                                                            CUDA_KERNEL_NODE_PARAMS const* wanted) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (wanted == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return found->template rewrite<kernel_work>(
        node, [&](kernel_work& work) { return set_kernel(work, *wanted, work.owner); });
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecBatchMemOpNodeSetParams(
    CUgraphExec handle, CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS const* wanted) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (wanted == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return found->template rewrite<memory_ops_work>(
        node, [&](memory_ops_work& work) { return rewrite_memory_ops(work, *wanted); });
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                                         CUDA_MEMCPY3D const* wanted,
                                                         CUcontext context) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (wanted == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return found->template rewrite<copy_work>(
        node, [&](copy_work& work) { return set_copy(work, *wanted, context); });
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                                         CUDA_MEMSET_NODE_PARAMS const* wanted,
                                                         CUcontext context) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (wanted == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return found->template rewrite<fill_work>(
        node, [&](fill_work& work) { return set_fill(work, *wanted, context); });
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec handle, CUgraphNode node,
                                                             CUevent event_handle) {
  return set_event<record_work>(__func__, handle, node, event_handle);
}

FLOTILLA_CPU_API CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec handle, CUgraphNode node,
                                                           CUevent event_handle) {
  return set_event<wait_work>(__func__, handle, node, event_handle);
}

FLOTILLA_CPU_API CUresult cuGraphExecHostNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                                       CUDA_HOST_NODE_PARAMS const* wanted) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (wanted == nullptr || wanted->fn == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return found->template rewrite<call_host>(node, [&](call_host& work) {
      work = {wanted->fn, wanted->userData};
      return CUDA_SUCCESS;
    });
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph from,
                                               CUgraphExecUpdateResultInfo* result) {
  return with_exec(__func__, handle, [&](auto const& found) {
    auto const source = graph::table().find(from);
    if (result == nullptr || !source) { return CUDA_ERROR_INVALID_VALUE; }
    return found->update(*source, *result);
  });
}

FLOTILLA_CPU_API CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node,
                                                unsigned enabled) {
  return with_exec(__func__, handle,
                   [&](auto const& found) { return found->enable(node, enabled != 0); });
}

FLOTILLA_CPU_API CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node,
                                                unsigned* enabled) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (enabled == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    bool is_enabled = false;
    if (CUresult const status = found->is_enabled(node, is_enabled)) { return status; }
    *enabled = is_enabled ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGraphUpload(CUgraphExec handle, CUstream target) {
  // A CPU device has nothing to upload, but the arguments are still checked.
  return with_stream(__func__, target, [&](stream&) {
    return graph_exec::table().find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGraphLaunch(CUgraphExec handle, CUstream target) {
  return with_stream(__func__, target, [&](stream& found) {
    auto const exec = graph_exec::table().find(handle);
    return exec ? exec->graph()->launch(exec->graph(), found) : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace flotilla::cpu_driver
