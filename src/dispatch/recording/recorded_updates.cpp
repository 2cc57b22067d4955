// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/recorded_updates.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dispatch/graph/builtin_kernels.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

recorded_updates::recorded_updates(context::context_handle const& context, registered_slabs& memory,
                                   completion_page const& page, CUfunction update,
                                   std::size_t nodes)
    : context_(context),
      memory_(memory),
      page_(page),
      update_(update),
      nodes_(nodes, 0),
      parameters_{&address_, &count_, &stride_} {}

void recorded_updates::give_back() noexcept {
  for (list& each : lists_) { memory_.give_back(std::exchange(each.piece, {})); }
  lists_.clear();
}

CUDA_KERNEL_NODE_PARAMS recorded_updates::entry_for(std::uint32_t count) noexcept {
  count_ = count;
  CUDA_KERNEL_NODE_PARAMS made = one_block(update_, block_threads, parameters_.data());
  made.gridDimX = std::max(1u, (count + block_threads - 1) / block_threads);
  return made;
}

CUgraphNode recorded_updates::add_entry(CUgraph graph) {
  CUDA_KERNEL_NODE_PARAMS const nothing = entry_for(0);
  driver::check(context_.api().graph_add_kernel_node(&entry_, graph, nullptr, 0, &nothing),
                "cuGraphAddKernelNode", context_.subject());
  return entry_;
}

void recorded_updates::attach(std::size_t i, CUgraphNode node, std::uint32_t argument_bytes) {
  CUlaunchAttributeValue wanted{};
  wanted.deviceUpdatableKernelNode.deviceUpdatable = 1;
  driver::check(context_.api().graph_kernel_node_set_attribute(
                    node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &wanted),
                "cuGraphKernelNodeSetAttribute", context_.subject());
  nodes_[i] = reinterpret_cast<std::uint64_t>(wanted.deviceUpdatableKernelNode.devNode);
  stride_ = std::max(stride_, node_record::stride_for(argument_bytes));
}

void recorded_updates::choose() {
  std::size_t const bytes = max_records_ * stride_;
  for (chosen_ = 0; chosen_ < lists_.size(); ++chosen_) {
    list& each = lists_[chosen_];
    if (each.number > page_.number(each.lane)) { continue; }
    if (each.piece.bytes < bytes) {
      registered_slabs::piece const larger = memory_.take(bytes);
      memory_.give_back(std::exchange(each.piece, larger));
    }
    return;
  }
  lists_.reserve(lists_.size() + 1);
  lists_.push_back({memory_.take(bytes), 0, 0});
}

void recorded_updates::put(std::size_t i, std::array<std::uint32_t, 3> const& grid,
                           std::byte const* arguments, std::uint32_t bytes) {
  if (pending_ == 0) { choose(); }
  std::byte* const to = lists_[chosen_].piece.host + std::size_t{pending_} * stride_;
  // Set the grid in every record, because an earlier change of the grid may never have reached the
  // node.
  std::uint32_t const what = node_record::set_grid | (bytes != 0 ? node_record::set_arguments : 0);
  node_record const made{nodes_[i], what, grid, bytes, 0};
  std::memcpy(to, &made, sizeof made);
  std::memcpy(to + sizeof made, arguments, bytes);
  ++pending_;
}

CUresult recorded_updates::set_entry(CUgraphExec exec) noexcept {
  if (pending_ == 0 && entry_holds_ == 0) { return CUDA_SUCCESS; }
  if (pending_ != 0) { address_ = lists_[chosen_].piece.device; }
  CUDA_KERNEL_NODE_PARAMS const next = entry_for(pending_);
  CUresult const answer = context_.api().graph_exec_kernel_node_set_params(exec, entry_, &next);
  if (answer == CUDA_SUCCESS) { entry_holds_ = pending_; }
  return answer;
}

void recorded_updates::launched(unsigned lane, std::uint64_t number) noexcept {
  if (pending_ != 0) {
    lists_[chosen_].lane = lane;
    lists_[chosen_].number = number;
  }
  pending_ = 0;
}

}  // namespace flotilla::dispatch
