// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/completion_node.hpp"

#include "dispatch/graph/builtin_kernels.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

struct kernel_parameters {
  void* arguments[2];
  CUDA_KERNEL_NODE_PARAMS node;

  kernel_parameters(CUfunction kernel, CUdeviceptr& counter, std::uint64_t& number) noexcept
      : arguments{&counter, &number}, node(one_block(kernel, 1, arguments)) {}
  kernel_parameters(kernel_parameters const&) = delete;
  kernel_parameters& operator=(kernel_parameters const&) = delete;
};

struct memory_op_parameters {
  CUstreamBatchMemOpParams operation{};
  CUDA_BATCH_MEM_OP_NODE_PARAMS node{};

  memory_op_parameters(CUcontext context, CUdeviceptr counter, std::uint64_t number) noexcept {
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    operation.writeValue.address = counter;
    operation.writeValue.value64 = number;
    operation.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
    node.ctx = context;
    node.count = 1;
    node.paramArray = &operation;
  }
  memory_op_parameters(memory_op_parameters const&) = delete;
  memory_op_parameters& operator=(memory_op_parameters const&) = delete;
};

}  // namespace

void completion_node::add(context::context_handle const& context, CUgraph graph,
                          std::span<CUgraphNode const> ahead, CUdeviceptr counter,
                          CUfunction kernel) {
  driver::table const& api = context.api();
  kernel_ = kernel;
  if (kernel_ != nullptr) {
    std::uint64_t number = 0;
    kernel_parameters const first{kernel_, counter, number};
    driver::check(api.graph_add_kernel_node(&node_, graph, ahead.data(), ahead.size(), &first.node),
                  "cuGraphAddKernelNode", context.subject());
    return;
  }
  memory_op_parameters const first{context.handle(), counter, 0};
  driver::check(
      api.graph_add_batch_mem_op_node(&node_, graph, ahead.data(), ahead.size(), &first.node),
      "cuGraphAddBatchMemOpNode", context.subject());
}

CUresult completion_node::set(context::context_handle const& context, CUgraphExec exec,
                              CUdeviceptr counter, std::uint64_t number) const noexcept {
  driver::table const& api = context.api();
  if (kernel_ != nullptr) {
    kernel_parameters const next{kernel_, counter, number};
    return api.graph_exec_kernel_node_set_params(exec, node_, &next.node);
  }
  memory_op_parameters const next{context.handle(), counter, number};
  return api.graph_exec_batch_mem_op_node_set_params(exec, node_, &next.node);
}

}  // namespace flotilla::dispatch
