// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/grid_launcher.hpp"

#include <algorithm>
#include <bit>

#include <flotilla/error/error.hpp>

#include "dispatch/graph/launch_attributes.hpp"

namespace flotilla::dispatch {

/// A kernel node that launches a twin. The parameters are valid as long as the object exists.
struct grid_launcher::grid_node {
  detail::twin_parameters parameters;
  void* arguments[4]{&parameters.records, &parameters.blocks, &parameters.stride,
                     &parameters.blocks_each};
  CUDA_KERNEL_NODE_PARAMS node{};

  grid_node(CUfunction twin, slot const& form, grid_records::written const& records) noexcept
      : parameters(records.parameters) {
    node.func = twin;
    node.gridDimX = records.blocks;
    node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = form.block[0];
    node.blockDimY = form.block[1];
    node.blockDimZ = form.block[2];
    node.sharedMemBytes = form.shared_bytes;
    node.kernelParams = arguments;
  }
  grid_node(grid_node const&) = delete;
  grid_node& operator=(grid_node const&) = delete;
};

grid_launcher::grid_launcher(parts const& with)
    : parts_(with), records_(with.launcher.slabs(), with.tasks), near_(with.context) {}

void grid_launcher::write(groups_span groups) {
  tasks_ = blocks_ = depth_ = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    slot const& form = parts_.tasks.at(groups[i][0]);
    written_[i] = records_.write(groups[i], parts_.kernels.kernels[form.kernel].argument_bytes);
    tasks_ += groups[i].size();
    blocks_ += written_[i].blocks;
    std::uint64_t const threads = grid_limits::count({form.block[0], form.block[1], form.block[2]});
    depth_ += parts_.limits.rounds(threads, written_[i].blocks);
  }
}

CUdeviceptr grid_launcher::copy_of_records(arrangement how) noexcept {
  // Side by side, the grids are the roots of the graph, and there is no node before them.
  bool const gains = how == arrangement::one_after_another && near_.gains(blocks_, tasks_);
  return gains ? near_.of(records_.piece()) : 0;
}

grid_launcher::grid_node grid_launcher::node_of(grid_groups::group tasks,
                                                grid_records::written records) {
  slot const& form = parts_.tasks.at(tasks[0]);
  kernel_entry const& kernel = parts_.kernels.kernels[form.kernel];
  unsigned const device = parts_.lanes.device();
  if (form.shared_bytes != 0) [[unlikely]] {
    allow_shared_bytes(parts_.context.api(), kernel, device, form.shared_bytes);
  }
  return {kernel.twin.functions[device], form, records};
}

graph_template& grid_launcher::take_template(lane const& lane, std::size_t nodes, arrangement how,
                                             batch_traits const& traits,
                                             CUDA_KERNEL_NODE_PARAMS const& any) {
  auto const count = static_cast<std::uint32_t>(nodes);
  std::uint32_t const chains = how == arrangement::side_by_side ? std::bit_ceil(count) : 1;
  std::uint32_t const size = chains == 1 ? count : chains;
  // The grids end together, so the batch counts as one task here.
  return parts_.launcher.templates().take({{size, chains, size / chains},
                                           parts_.launcher.completion_for(traits, 1),
                                           traits.device_wait.valid()},
                                          any, lane.counter());
}

CUresult grid_launcher::fill(graph_template& carrier, groups_span groups, CUdeviceptr copy) {
  std::uint32_t next = 0;
  CUresult answer = CUDA_SUCCESS;
  CUdeviceptr const original = records_.piece().device;
  if (copy != 0) {
    near_records::copy_node const node{near_, copy, original, records_.written_bytes()};
    answer = carrier.set(next++, node.node());
  }
  for (std::size_t i = 0; i < groups.size() && answer == CUDA_SUCCESS; ++i) {
    grid_records::written records = written_[i];
    if (copy != 0) {
      records.parameters.records += copy - original;
      records.parameters.blocks += copy - original;
    }
    answer = carrier.set(next++, node_of(groups[i], records).node);
  }
  while (next < carrier.dimensions().size && answer == CUDA_SUCCESS) {
    answer = carrier.disable(next++);
  }
  return answer;
}

grid_launcher::outcome grid_launcher::launch(lane& lane, groups_span groups, arrangement how,
                                             batch_traits const& traits) {
  graph_template* carrier = nullptr;
  CUdeviceptr copy = 0;
  try {
    records_.begin();
    write(groups);
    copy = copy_of_records(how);
    grid_node const any = node_of(groups[0], written_[0]);
    carrier = &take_template(lane, groups.size() + (copy != 0 ? 1 : 0), how, traits, any.node);
    CUresult answer = fill(*carrier, groups, copy);
    if (answer == CUDA_SUCCESS && carrier->waits_on_device()) {
      answer = parts_.launcher.set_wait(*carrier, traits.device_wait);
    }
    if (answer != CUDA_SUCCESS) {
      records_.give_back();
      // After a lack of memory the graph may be damaged (see batch_launcher::prepare), so it is
      // never used again.
      if (answer != CUDA_ERROR_OUT_OF_MEMORY) { parts_.launcher.give_back(*carrier); }
      return {nullptr, answer};
    }
  } catch (driver_error const& why) {
    records_.give_back();
    return {nullptr, static_cast<CUresult>(why.status())};
  }
  lane::batch& batch = lane.begin();
  if (CUresult const answer = carrier->launch(lane.stream(), lane.counter(), batch.number);
      answer != CUDA_SUCCESS) {
    lane.cancel();
    records_.give_back();
    parts_.launcher.give_back(*carrier);
    return {nullptr, answer};
  }
  lane.commit();
  batch.carrier = carrier;
  batch.records = records_.release();
  batch.long_running = traits.long_running;
  batch.waits_on_device = carrier->waits_on_device();
  for (grid_groups::group const& each : groups) {
    std::copy(each.begin(), each.end(), batch.tasks.begin() + batch.count);
    batch.count += static_cast<std::uint32_t>(each.size());
  }
  return {&batch, CUDA_SUCCESS, depth_, copy != 0 ? near_records::cost_ns : 0};
}

}  // namespace flotilla::dispatch
