// Executable graphs: made, rewritten, launched.
#include "cpu_driver/api.hpp"
#include "cpu_driver/graph_entry.hpp"

namespace flotilla::cpu_driver {
namespace {

CUresult instantiate(CUgraphExec* made, CUgraph handle, unsigned long long flags,
                     CUgraphNode& offender) {
  constexpr unsigned long long known =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  auto& state = driver_state::get();
  auto const source = state.graphs().find(handle);
  if (made == nullptr || !source || (flags & ~known) != 0) { return CUDA_ERROR_INVALID_VALUE; }
  // Kernels here cannot launch graphs.
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) { return CUDA_ERROR_NOT_SUPPORTED; }
  std::vector<planned_node> steps;
  if (CUresult const status = source->plan(steps, offender)) { return status; }
  auto what = std::make_shared<executable_graph>(
      handle, flags & ~static_cast<unsigned long long>(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD),
      std::move(steps));
  *made = state.graph_execs().open(std::move(what))->self();
  return CUDA_SUCCESS;
}

template <class Work>
CUresult set_event(char const* entry, CUgraphExec handle, CUgraphNode which,
                   CUevent what) noexcept {
  return with_exec(entry, handle, [&](auto const& found) {
    if (!driver_state::get().events().find(what)) { return CUDA_ERROR_INVALID_HANDLE; }
    return found->template rewrite<Work>(which, [&](Work& work) {
      work.what = what;
      return CUDA_SUCCESS;
    });
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph handle,
                                                      unsigned long long flags) {
  return with_driver(__func__, [&](driver_state&) {
    CUgraphNode offender = nullptr;
    return instantiate(made, handle, flags, offender);
  });
}

FLOTILLA_CPU_API CUresult cuGraphInstantiateWithParams(CUgraphExec* made, CUgraph handle,
                                                       CUDA_GRAPH_INSTANTIATE_PARAMS* wanted) {
  return with_driver(__func__, [&](driver_state&) {
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
  return with_driver<when_poisoned::act_and_report>(__func__, [&](driver_state& state) {
    return state.graph_execs().close(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (flags == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *flags = found->flags();
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec handle, CUgraphNode which,
                                                            CUDA_KERNEL_NODE_PARAMS const* wanted) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (wanted == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return found->template rewrite<kernel_work>(
        which, [&](kernel_work& work) { return set_kernel(work, *wanted, work.owner); });
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecBatchMemOpNodeSetParams(
    CUgraphExec handle, CUgraphNode which, CUDA_BATCH_MEM_OP_NODE_PARAMS const* wanted) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (wanted == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return found->template rewrite<memory_ops_work>(
        which, [&](memory_ops_work& work) { return rewrite_memory_ops(work, *wanted); });
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec handle, CUgraphNode which,
                                                         CUDA_MEMCPY3D const* wanted,
                                                         CUcontext context) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (wanted == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return found->template rewrite<copy_work>(
        which, [&](copy_work& work) { return set_copy(work, *wanted, context); });
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec handle, CUgraphNode which,
                                                         CUDA_MEMSET_NODE_PARAMS const* wanted,
                                                         CUcontext context) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (wanted == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return found->template rewrite<fill_work>(
        which, [&](fill_work& work) { return set_fill(work, *wanted, context); });
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec handle, CUgraphNode which,
                                                             CUevent what) {
  return set_event<record_work>(__func__, handle, which, what);
}

FLOTILLA_CPU_API CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec handle, CUgraphNode which,
                                                           CUevent what) {
  return set_event<wait_work>(__func__, handle, which, what);
}

FLOTILLA_CPU_API CUresult cuGraphExecHostNodeSetParams(CUgraphExec handle, CUgraphNode which,
                                                       CUDA_HOST_NODE_PARAMS const* wanted) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (wanted == nullptr || wanted->fn == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    return found->template rewrite<call_host>(which, [&](call_host& work) {
      work = {wanted->fn, wanted->userData};
      return CUDA_SUCCESS;
    });
  });
}

FLOTILLA_CPU_API CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph from,
                                               CUgraphExecUpdateResultInfo* result) {
  return with_exec(__func__, handle, [&](auto const& found) {
    auto const source = driver_state::get().graphs().find(from);
    if (result == nullptr || !source) { return CUDA_ERROR_INVALID_VALUE; }
    return found->update(*source, *result);
  });
}

FLOTILLA_CPU_API CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode which,
                                                unsigned enabled) {
  return with_exec(__func__, handle,
                   [&](auto const& found) { return found->enable(which, enabled != 0); });
}

FLOTILLA_CPU_API CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode which,
                                                unsigned* enabled) {
  return with_exec(__func__, handle, [&](auto const& found) {
    if (enabled == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    bool is_enabled = false;
    if (CUresult const status = found->is_enabled(which, is_enabled)) { return status; }
    *enabled = is_enabled ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuGraphUpload(CUgraphExec handle, CUstream where) {
  // Nothing has to be brought anywhere; what is wrong is still said.
  return with_stream(__func__, where, [&](stream&) {
    return driver_state::get().graph_execs().find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

FLOTILLA_CPU_API CUresult cuGraphLaunch(CUgraphExec handle, CUstream where) {
  return with_stream(__func__, where, [&](stream& found) {
    auto const exec = driver_state::get().graph_execs().find(handle);
    return exec ? exec->what()->launch(exec->what(), found) : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace flotilla::cpu_driver
