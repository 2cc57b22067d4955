// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Recorded graphs: how their nodes are written, and how they are launched.
#include "dispatch/recording/recorded_graph.hpp"

#include <array>
#include <new>

#include <flotilla/error/error.hpp>

#include "dispatch/graph/launch_attributes.hpp"
#include "dispatch/recording/memory_node.hpp"

namespace flotilla::dispatch {

namespace {

/// The parameters of a node that is a grid of a twin. Valid as long as the object exists.
struct grid_parameters {
  detail::twin_parameters values;
  std::array<void*, 4> arguments;
  CUDA_KERNEL_NODE_PARAMS node{};

  grid_parameters(kernel_entry const& kernel, unsigned device, recorded_grid const& grid) noexcept
      : values{grid.wanted().parameters},
        arguments{&values.records, &values.blocks, &values.stride, &values.blocks_each} {
    node.func = kernel.twin.functions[device];
    node.gridDimX = grid.wanted().blocks;
    node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = grid.what().block.x;
    node.blockDimY = grid.what().block.y;
    node.blockDimZ = grid.what().block.z;
    node.sharedMemBytes = grid.what().shared_bytes;
    node.kernelParams = arguments.data();
  }
  grid_parameters(grid_parameters const&) = delete;
  grid_parameters& operator=(grid_parameters const&) = delete;
};

}  // namespace

bool recorded_graph::can_hold(change_list::change const& wanted) const noexcept {
  if (grids_.empty()) { return true; }
  std::uint32_t const grid = grid_of_[plan_.node_of[wanted.task]];
  return grid == no_grid || (grids_[grid].what() == recorded_grid::form::of(wanted) &&
                             limits_.accept(kernels_.kernels[wanted.kernel],
                                            {wanted.grid.x, wanted.grid.y, wanted.grid.z},
                                            {wanted.block.x, wanted.block.y, wanted.block.z}));
}

void recorded_graph::copy_contents(change_list& into) const {
  for (std::uint32_t task = 0; task < tasks_; ++task) {
    std::uint32_t const grid = grid_of_[plan_.node_of[task]];
    if (grid != no_grid) {
      grids_[grid].copy_to(into, task, rank_[task]);
    } else {
      into.put(singles_.of(task), singles_.arguments(singles_.of(task)));
    }
  }
}

CUDA_KERNEL_NODE_PARAMS const& recorded_graph::node_of(change_list::change const& change,
                                                       std::byte const* arguments) {
  kernel_entry const& kernel = kernels_.kernels[change.kernel];
  if (change.shared_bytes != 0) {
    allow_shared_bytes(context_.api(), kernel, device_, change.shared_bytes);
  }
  return node_.fill(kernel, device_,
                    {{change.grid.x, change.grid.y, change.grid.z},
                     {change.block.x, change.block.y, change.block.z},
                     change.shared_bytes,
                     arguments});
}

driver::call_outcome recorded_graph::add_single(change_list::change const& change,
                                                std::byte const* arguments, std::uint32_t node,
                                                std::span<CUgraphNode const> ahead) {
  if (auto const command = change_list::command(change, arguments)) {
    return add_memory_node(context_, graph_, nodes_[node], ahead, *command);
  }
  return {context_.api().graph_add_kernel_node(&nodes_[node], graph_, ahead.data(), ahead.size(),
                                               &node_of(change, arguments)),
          "cuGraphAddKernelNode"};
}

driver::call_outcome recorded_graph::add_grid(std::uint32_t node,
                                              std::span<CUgraphNode const> ahead) {
  recorded_grid& grid = grids_[grid_of_[node]];
  kernel_entry const& kernel = kernels_.kernels[grid.what().kernel];
  if (grid.what().shared_bytes != 0) {
    allow_shared_bytes(context_.api(), kernel, device_, grid.what().shared_bytes);
  }
  grid_parameters const parameters{kernel, device_, grid};
  CUresult const answer = context_.api().graph_add_kernel_node(&nodes_[node], graph_, ahead.data(),
                                                               ahead.size(), &parameters.node);
  if (answer == CUDA_SUCCESS) { grid.set_rewritten(); }
  return {answer, "cuGraphAddKernelNode"};
}

driver::call_outcome recorded_graph::rewrite_single(change_list::change const& change,
                                                    std::byte const* arguments) {
  CUgraphNode const node = nodes_[plan_.node_of[change.task]];
  if (auto const command = change_list::command(change, arguments)) {
    return rewrite_memory_node(context_, exec_, node, *command);
  }
  return {
      context_.api().graph_exec_kernel_node_set_params(exec_, node, &node_of(change, arguments)),
      "cuGraphExecKernelNodeSetParams"};
}

driver::call_outcome recorded_graph::put(change_list::change const& change,
                                         std::byte const* arguments) {
  try {
    std::uint32_t const node = plan_.node_of[change.task];
    if (grid_of_[node] == no_grid) {
      if (has_grids()) { singles_.put(change, arguments); }
      return rewrite_single(change, arguments);
    }
    recorded_grid& grid = grids_[grid_of_[node]];
    if (!grid.is_open()) {
      grid.open(last_, is_copying());
      changed_.push_back(node);
    }
    grid.put(rank_[change.task], change, arguments);
    return {};
  } catch (driver_error const& why) {
    return {static_cast<CUresult>(why.status()), "cuMemHostRegister"};
  } catch (std::bad_alloc const&) { return {CUDA_ERROR_OUT_OF_MEMORY, "cuMemHostRegister"}; }
}

bool recorded_graph::is_copying() noexcept {
  if (copy_ == copy_state::in_flight &&
      context_.api().stream_query(memory_stream_) == CUDA_SUCCESS) {
    copy_ = copy_state::made;
  }
  return copy_ == copy_state::in_flight;
}

void recorded_graph::use_device_copy() noexcept {
  if (is_copying() || copy_ != copy_state::made) { return; }
  copy_ = copy_state::in_use;
  for (std::uint32_t node = 0; node < grid_of_.size(); ++node) {
    bool const is_grid = grid_of_[node] != no_grid;
    if (is_grid && grids_[grid_of_[node]].use_device_copy(device_records_ - records_.device)) {
      changed_.push_back(node);
    }
  }
}

recorded_graph::closed recorded_graph::close_changes() {
  use_device_copy();
  for (std::uint32_t const node : changed_) {
    recorded_grid& grid = grids_[grid_of_[node]];
    std::uint32_t const task = plan_.tasks[node][0];
    try {
      if (!grid.close()) { return {{CUDA_ERROR_INVALID_VALUE}, task, true}; }
    } catch (driver_error const& why) {
      return {{static_cast<CUresult>(why.status()), "cuMemHostRegister"}, task};
    } catch (std::bad_alloc const&) {
      return {{CUDA_ERROR_OUT_OF_MEMORY, "cuMemHostRegister"}, task};
    }
    if (!grid.must_rewrite()) { continue; }
    grid_parameters const parameters{kernels_.kernels[grid.what().kernel], device_, grid};
    CUresult const answer =
        context_.api().graph_exec_kernel_node_set_params(exec_, nodes_[node], &parameters.node);
    if (answer != CUDA_SUCCESS) { return {{answer, "cuGraphExecKernelNodeSetParams"}, task}; }
    grid.set_rewritten();
  }
  return {};
}

driver::call_outcome recorded_graph::enqueue(lane const& lane, std::uint64_t number,
                                             std::uint64_t replay) {
  if (auto const answer = exchanges_.set(exec_, replay); !answer.ok()) { return answer; }
  CUresult answer = completion_.set(context_, exec_, lane.counter(), number);
  if (answer == CUDA_SUCCESS) { answer = context_.api().graph_launch(exec_, lane.stream()); }
  if (answer != CUDA_SUCCESS) { return {answer, "cuGraphLaunch"}; }
  for (std::uint32_t const node : changed_) { grids_[grid_of_[node]].launched(); }
  changed_.clear();
  last_ = {lane.index(), number};
  return {};
}

CUresult recorded_graph::upload(CUstream stream) noexcept {
  auto const call = context_.api().graph_upload;
  return call == nullptr ? CUDA_SUCCESS : call(exec_, stream);
}

}  // namespace flotilla::dispatch
