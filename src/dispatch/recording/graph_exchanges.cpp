// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/graph_exchanges.hpp"

#include <array>
#include <utility>

#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

constexpr unsigned threads = graph_exchanges::max_parts;

struct kernel_parameters {
  CUdeviceptr words;
  CUdeviceptr base;
  std::uint32_t own;
  std::uint32_t level;
  // By part: 1 + the level that it must have reached, or 0 if it need not have reached any.
  std::array<std::uint32_t, threads> needs{};
  void* arguments[5] = {&words, &base, &own, &level, &needs};
  CUDA_KERNEL_NODE_PARAMS node;

  kernel_parameters(CUfunction kernel, replay_group const& group, std::uint32_t part,
                    planned_exchange const& what, CUdeviceptr base_at)
      : words(group.words()),
        base(base_at),
        own(part),
        level(what.level),
        node(one_block(kernel, threads, arguments)) {
    for (planned_exchange::need const& each : what.needs) { needs[each.part] = each.level + 1; }
  }
  kernel_parameters(kernel_parameters const&) = delete;
  kernel_parameters& operator=(kernel_parameters const&) = delete;
};

struct operation_parameters {
  std::vector<CUstreamBatchMemOpParams> operations;
  CUDA_BATCH_MEM_OP_NODE_PARAMS node{};

  operation_parameters(CUcontext context, replay_group const& group, std::uint32_t part,
                       planned_exchange const& what, std::uint64_t replay) {
    std::uint64_t const base = group.base(replay);
    operations.reserve(1 + what.needs.size());
    CUstreamBatchMemOpParams& tell = operations.emplace_back();
    tell.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    tell.writeValue.address = group.word(part);
    tell.writeValue.value64 = base + what.level;
    tell.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
    for (planned_exchange::need const& each : what.needs) {
      CUstreamBatchMemOpParams& wait = operations.emplace_back();
      wait.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
      wait.waitValue.address = group.word(each.part);
      wait.waitValue.value64 = base + each.level;
      wait.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    }
    node.ctx = context;
    node.count = static_cast<unsigned>(operations.size());
    node.paramArray = operations.data();
  }
  operation_parameters(operation_parameters const&) = delete;
  operation_parameters& operator=(operation_parameters const&) = delete;
};

}  // namespace

graph_exchanges::graph_exchanges(context::context_handle const& context, config const& with)
    : context_(context), with_(with), nodes_(with.planned.size()) {}

CUgraphNode graph_exchanges::begin(CUgraph graph, builtin_functions const& builtins) {
  bool const are_kernels = !with_.planned.empty() && builtins.exchange != nullptr;
  if (!are_kernels) { return nullptr; }
  driver::table const& api = context_.api();
  CUdeviceptr memory = 0;
  driver::check(api.mem_alloc_async(&memory, sizeof(std::uint64_t), with_.memory_stream),
                "cuMemAllocAsync", context_.subject());
  base_at_ = memory;
  // The streams of replays use the memory. This stream holds no tasks, so the wait is short.
  driver::check(api.stream_synchronize(with_.memory_stream), "cuStreamSynchronize",
                context_.subject());
  kernel_ = builtins.exchange;
  base_.add(context_, graph, {}, base_at_, builtins.completion);
  return base_.node();
}

driver::call_outcome graph_exchanges::add(std::size_t number, CUgraph graph,
                                          std::span<CUgraphNode const> ahead, CUgraphNode& made) {
  driver::table const& api = context_.api();
  planned_exchange const& what = with_.planned[number];
  driver::call_outcome answer;
  if (kernel_ != nullptr) {
    kernel_parameters const with{kernel_, *with_.group, with_.part, what, base_at_};
    answer = {api.graph_add_kernel_node(&made, graph, ahead.data(), ahead.size(), &with.node),
              "cuGraphAddKernelNode"};
  } else {
    operation_parameters const with{context_.handle(), *with_.group, with_.part, what, 0};
    answer = {api.graph_add_batch_mem_op_node(&made, graph, ahead.data(), ahead.size(), &with.node),
              "cuGraphAddBatchMemOpNode"};
  }
  nodes_[number] = made;
  return answer;
}

driver::call_outcome graph_exchanges::set(CUgraphExec exec, std::uint64_t replay) const {
  if (kernel_ != nullptr) {
    return {base_.set(context_, exec, base_at_, with_.group->base(replay)),
            "cuGraphExecKernelNodeSetParams"};
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    operation_parameters const next{context_.handle(), *with_.group, with_.part, with_.planned[i],
                                    replay};
    CUresult const answer =
        context_.api().graph_exec_batch_mem_op_node_set_params(exec, nodes_[i], &next.node);
    if (answer != CUDA_SUCCESS) { return {answer, "cuGraphExecBatchMemOpNodeSetParams"}; }
  }
  return {};
}

void graph_exchanges::destroy() noexcept {
  if (base_at_ == 0) { return; }
  context_.api().mem_free_async(std::exchange(base_at_, 0), with_.memory_stream);
}

}  // namespace flotilla::dispatch
