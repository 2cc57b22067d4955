// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points that get and set the parameters of a graph's nodes. A change affects only executable
// graphs that are instantiated afterwards.
#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/graph_entry.hpp"

namespace flotilla::cpu_driver {
namespace {

template <class Work>
CUresult get_event(char const* entry, CUgraphNode handle, CUevent* event_handle) noexcept {
  return with_work<Work>(entry, handle, [&](graph_node&, Work& work) {
    if (event_handle == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *event_handle = work.event;
    return CUDA_SUCCESS;
  });
}

template <class Work>
CUresult set_event(char const* entry, CUgraphNode handle, CUevent event_handle) noexcept {
  return with_work<Work>(entry, handle, [&](graph_node&, Work& work) {
    if (!event::table().find(event_handle)) { return CUDA_ERROR_INVALID_HANDLE; }
    work.event = event_handle;
    return CUDA_SUCCESS;
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID,
                                                        CUkernelNodeAttrValue const* value) {
  // CPU devices support no attributes of kernel nodes. The attribute for device-updatable nodes is
  // not needed, because the host rewrites nodes quickly enough.
  return with_work<kernel_work>(__func__, handle, [&](graph_node&, kernel_work&) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
  });
}

FLOTILLA_CPU_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle,
                                                        CUDA_KERNEL_NODE_PARAMS* to) {
  return with_work<kernel_work>(__func__, handle, [&](graph_node& node, kernel_work& work) {
    if (to == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    node.addresses.clear();
    for (std::uint32_t i = 0; i < work.kernel->parameter_count; ++i) {
      node.addresses.push_back(work.arguments.data() + work.kernel->parameter_offsets[i]);
    }
    *to = {.func = work.func,
           .gridDimX = work.grid_size.x,
           .gridDimY = work.grid_size.y,
           .gridDimZ = work.grid_size.z,
           .blockDimX = work.block_size.x,
           .blockDimY = work.block_size.y,
           .blockDimZ = work.block_size.z,
           .sharedMemBytes = work.dynamic_shared_bytes,
           .kernelParams = node.addresses.empty() ? nullptr : node.addresses.data(),
           .extra = nullptr,
           .kern = work.kern,
           .ctx = work.kern != nullptr ? work.owner : nullptr};
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode handle,
                                                        CUDA_KERNEL_NODE_PARAMS const* wanted) {
  return with_work<kernel_work>(__func__, handle, [&](graph_node&, kernel_work& work) {
    return wanted != nullptr ? set_kernel(work, *wanted, nullptr) : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode handle,
                                                         CUDA_BATCH_MEM_OP_NODE_PARAMS* to) {
  return with_work<memory_ops_work>(__func__, handle, [&](graph_node&, memory_ops_work& work) {
    if (to == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *to = {.ctx = work.owner,
           .count = static_cast<unsigned>(work.operations.size()),
           .paramArray = work.operations.data(),
           .flags = work.flags};
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult
cuGraphBatchMemOpNodeSetParams(CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS const* wanted) {
  return with_work<memory_ops_work>(__func__, handle, [&](graph_node&, memory_ops_work& work) {
    return wanted != nullptr ? set_memory_ops(work, *wanted) : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode handle,
                                                         CUevent* event_handle) {
  return get_event<record_work>(__func__, handle, event_handle);
}

FLOTILLA_CPU_API CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode handle, CUevent event_handle) {
  return set_event<record_work>(__func__, handle, event_handle);
}

FLOTILLA_CPU_API CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode handle, CUevent* event_handle) {
  return get_event<wait_work>(__func__, handle, event_handle);
}

FLOTILLA_CPU_API CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode handle, CUevent event_handle) {
  return set_event<wait_work>(__func__, handle, event_handle);
}

FLOTILLA_CPU_API CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* to) {
  return with_work<call_host>(__func__, handle, [&](graph_node&, call_host& work) {
    if (to == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *to = {.fn = work.function, .userData = work.user};
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGraphHostNodeSetParams(CUgraphNode handle,
                                                   CUDA_HOST_NODE_PARAMS const* wanted) {
  return with_work<call_host>(__func__, handle, [&](graph_node&, call_host& work) {
    if (wanted == nullptr || wanted->fn == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    work = {wanted->fn, wanted->userData};
    return CUDA_SUCCESS;
  });
}

}  // namespace flotilla::cpu_driver
