#include "dispatch/end_node.hpp"

#include "dispatch/own_kernels.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

struct marking {
  void* arguments[2];
  CUDA_KERNEL_NODE_PARAMS parameters;

  marking(CUfunction marker, CUdeviceptr& counter, std::uint64_t& number) noexcept
      : arguments{&counter, &number}, parameters(one_block(marker, 1, arguments)) {}
  marking(marking const&) = delete;
  marking& operator=(marking const&) = delete;
};

struct write {
  CUstreamBatchMemOpParams operation{};
  CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{};

  write(CUcontext in, CUdeviceptr counter, std::uint64_t number) noexcept {
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    operation.writeValue.address = counter;
    operation.writeValue.value64 = number;
    operation.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
    parameters.ctx = in;
    parameters.count = 1;
    parameters.paramArray = &operation;
  }
  write(write const&) = delete;
  write& operator=(write const&) = delete;
};

}  // namespace

void end_node::add(context::floating_context const& context, CUgraph graph, std::span<CUgraphNode const> behind,
                   CUdeviceptr counter, CUfunction marker) {
  marker_ = marker;
  if (marker_ != nullptr) {
    std::uint64_t number = 0;
    marking const first{marker_, counter, number};
    driver::check(context.api().graph_add_kernel_node(&node_, graph, behind.data(), behind.size(), &first.parameters),
                  "cuGraphAddKernelNode", context.subject());
    return;
  }
  write const first{context.handle(), counter, 0};
  driver::check(context.api().graph_add_batch_mem_op_node(&node_, graph, behind.data(), behind.size(), &first.parameters),
                "cuGraphAddBatchMemOpNode", context.subject());
}

CUresult end_node::set(context::floating_context const& context, CUgraphExec exec, CUdeviceptr counter,
                       std::uint64_t number) const noexcept {
  if (marker_ != nullptr) {
    marking const next{marker_, counter, number};
    return context.api().graph_exec_kernel_node_set_params(exec, node_, &next.parameters);
  }
  write const next{context.handle(), counter, number};
  return context.api().graph_exec_batch_mem_op_node_set_params(exec, node_, &next.parameters);
}

}  // namespace flotilla::dispatch
