// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/graph/graph_template.hpp"

#include <utility>

#include "dispatch/graph/builtin_kernels.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

struct spin_parameters {
  void* arguments[3];
  CUDA_KERNEL_NODE_PARAMS node;

  spin_parameters(CUfunction spin, graph_template::device_wait& wait) noexcept
      : arguments{&wait.counter, &wait.number, &wait.stop}, node(one_block(spin, 1, arguments)) {}
  spin_parameters(spin_parameters const&) = delete;
  spin_parameters& operator=(spin_parameters const&) = delete;
};

}  // namespace

graph_template::graph_template(context::context_handle const& context, shape const& wanted,
                               CUDA_KERNEL_NODE_PARAMS const& any, CUdeviceptr counter,
                               functions const& kernels)
    : context_(context),
      shape_(wanted),
      has_completion_kernel_(kernels.completion != nullptr),
      spin_(kernels.spin),
      nodes_(wanted.size) {
  try {
    driver::check(context.api().graph_create(&graph_, 0), "cuGraphCreate", context.subject());
    if (spin_ != nullptr) {
      device_wait nothing{counter, 0, counter};
      add_entry(spin_parameters{spin_, nothing}.node);
    } else if (kernels.entry != nullptr && wanted.chains > 1) {
      add_entry(one_block(kernels.entry, 1, nullptr));
    }
    build(any, counter, kernels.completion);
  } catch (...) {
    destroy();
    throw;
  }
}

void graph_template::build(CUDA_KERNEL_NODE_PARAMS const& any, CUdeviceptr counter,
                           CUfunction completion) {
  driver::table const& api = context_.api();
  std::string const& subject = context_.subject();
  std::uint32_t const chains = shape_.chains;
  std::uint32_t const rows = shape_.size / chains;
  // The common predecessor of all nodes in the next row. Null: the predecessor of each node is the
  // previous node of its chain.
  CUgraphNode ahead = entry_;
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t i = row * chains; i < (row + 1) * chains; ++i) {
      CUgraphNode const after = ahead != nullptr ? ahead : row != 0 ? nodes_[i - chains] : nullptr;
      std::size_t const dependencies = after != nullptr ? 1 : 0;
      driver::check(api.graph_add_kernel_node(&nodes_[i], graph_, &after, dependencies, &any),
                    "cuGraphAddKernelNode", subject);
    }
    ahead = nullptr;
    if ((row + 1) % shape_.rows_per_completion != 0 && row + 1 != rows) { continue; }
    completions_.emplace_back().add(context_, graph_, {&nodes_[row * chains], chains}, counter,
                                    completion);
    ahead = completions_.back().node();
  }
  driver::check(api.graph_instantiate_with_flags(&exec_, graph_, 0), "cuGraphInstantiateWithFlags",
                subject);
}

void graph_template::add_entry(CUDA_KERNEL_NODE_PARAMS const& kernel) {
  driver::check(context_.api().graph_add_kernel_node(&entry_, graph_, nullptr, 0, &kernel),
                "cuGraphAddKernelNode", context_.subject());
}

graph_template::~graph_template() { destroy(); }

void graph_template::destroy() noexcept {
  driver::table const& api = context_.api();
  if (exec_ != nullptr) { api.graph_exec_destroy(std::exchange(exec_, nullptr)); }
  if (graph_ != nullptr) { api.graph_destroy(std::exchange(graph_, nullptr)); }
}

CUresult graph_template::set(std::uint32_t i, CUDA_KERNEL_NODE_PARAMS const& what) noexcept {
  CUresult answer = context_.api().graph_exec_kernel_node_set_params(exec_, nodes_[i], &what);
  std::uint64_t const bit = std::uint64_t{1} << i;
  if (answer == CUDA_SUCCESS && (disabled_ & bit) != 0) {
    answer = context_.api().graph_node_set_enabled(exec_, nodes_[i], 1);
    if (answer == CUDA_SUCCESS) { disabled_ &= ~bit; }
  }
  return answer;
}

CUresult graph_template::disable(std::uint32_t i) noexcept {
  std::uint64_t const bit = std::uint64_t{1} << i;
  if ((disabled_ & bit) != 0) { return CUDA_SUCCESS; }
  CUresult const answer = context_.api().graph_node_set_enabled(exec_, nodes_[i], 0);
  if (answer == CUDA_SUCCESS) { disabled_ |= bit; }
  return answer;
}

CUresult graph_template::set_wait(device_wait wait) noexcept {
  spin_parameters const next{spin_, wait};
  return context_.api().graph_exec_kernel_node_set_params(exec_, entry_, &next.node);
}

CUresult graph_template::launch(CUstream stream, CUdeviceptr counter,
                                std::uint64_t first_number) noexcept {
  CUresult answer = CUDA_SUCCESS;
  for (std::uint32_t i = 0; i < completions() && answer == CUDA_SUCCESS; ++i) {
    answer = completions_[i].set(context_, exec_, counter, first_number + i);
  }
  if (answer == CUDA_SUCCESS) { answer = context_.api().graph_launch(exec_, stream); }
  return answer;
}

}  // namespace flotilla::dispatch
