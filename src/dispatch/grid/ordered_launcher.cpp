// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/ordered_launcher.hpp"

#include <exception>
#include <iterator>
#include <new>

#include <flotilla/error/error.hpp>

#include "dispatch/graph/launch_attributes.hpp"
#include "dispatch/grid/order_records.hpp"

namespace flotilla::dispatch {

/// A kernel node that launches an ordered twin. The parameters are valid as long as the object
/// exists.
struct ordered_launcher::ordered_node {
  detail::ordered_twin_parameters parameters;
  void* arguments[std::size(detail::ordered_twin_parameter_sizes)];
  CUDA_KERNEL_NODE_PARAMS node{};

  ordered_node(CUfunction twin, slot const& form, std::uint32_t blocks,
               detail::ordered_twin_parameters const& with) noexcept
      : parameters(with) {
    auto* const bytes = reinterpret_cast<std::byte*>(&parameters);
    for (std::size_t i = 0; i < std::size(arguments); ++i) {
      arguments[i] = bytes + detail::ordered_twin_parameter_offsets[i];
    }
    node.func = twin;
    node.gridDimX = blocks;
    node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = form.block[0];
    node.blockDimY = form.block[1];
    node.blockDimZ = form.block[2];
    node.sharedMemBytes = form.shared_bytes;
    node.kernelParams = arguments;
  }
  ordered_node(ordered_node const&) = delete;
  ordered_node& operator=(ordered_node const&) = delete;
};

bool ordered_launcher::begin() noexcept {
  try {
    parts_.records.begin();
  } catch (std::exception const&) { return false; }
  of_launch_ = words_.of(parts_.records.piece());
  if (of_launch_ == nullptr) { parts_.records.give_back(); }
  return of_launch_ != nullptr;
}

CUresult ordered_launcher::launch_grid(lane& lane, grid_order const& order,
                                       batch_traits const& traits, graph_template*& carrier) {
  slot const& form = parts_.tasks.at(order.tasks()[0]);
  kernel_entry const& kernel = parts_.kernels.kernels[form.kernel];
  unsigned const device = parts_.lanes.device();
  grid_records::written const written = parts_.records.write(order.tasks(), kernel.argument_bytes);
  detail::ordered_twin_parameters parameters =
      order_records{parts_.records, parts_.tasks, *of_launch_}.write(order);
  parameters.launches = written.parameters;
  parameters.counter = lane.counter();
  parameters.first_number = lane.last_number() + 1;
  ordered_node const node{kernel.twin.ordered[device], form, written.blocks, parameters};
  carrier = &parts_.launcher.templates().take(
      {{1, 1, 1}, parts_.launcher.completion_for(traits, 1)}, node.node, lane.counter());
  if (CUresult const answer = carrier->set(0, node.node); answer != CUDA_SUCCESS) {
    // After a lack of memory the graph may be damaged (see batch_launcher::prepare), so it is never
    // used again.
    if (answer == CUDA_ERROR_OUT_OF_MEMORY) { carrier = nullptr; }
    return answer;
  }
  for (std::uint32_t i = 0; i < order.waves(); ++i) { batches_[i] = &lane.begin(); }
  return carrier->launch(lane.stream(), lane.counter(), batches_[order.waves() - 1]->number);
}

ordered_launcher::outcome ordered_launcher::launch(lane& lane, grid_order const& order,
                                                   batch_traits const& traits) {
  graph_template* carrier = nullptr;
  CUresult answer = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    answer = launch_grid(lane, order, traits, carrier);
  } catch (driver_error const& why) {
    answer = static_cast<CUresult>(why.status());
  } catch (std::bad_alloc const&) {}
  if (answer != CUDA_SUCCESS) {
    lane.cancel();
    parts_.records.give_back();
    if (carrier != nullptr) { parts_.launcher.give_back(*carrier); }
    return {answer};
  }
  order_records{parts_.records, parts_.tasks, *of_launch_}.commit(order);
  lane.commit();
  for (std::size_t i = 0; i < order.tasks().size(); ++i) {
    lane::batch& batch = *batches_[order.nodes()[i].wave];
    batch.tasks[batch.count++] = order.tasks()[i];
  }
  for (std::uint32_t i = 0; i < order.waves(); ++i) {
    batches_[i]->long_running = traits.long_running;
    if (i + 1 < order.waves()) { lane.note_beside_next(*batches_[i]); }
  }
  lane::batch& last = *batches_[order.waves() - 1];
  last.carrier = carrier;
  last.records = parts_.records.release();
  return {CUDA_SUCCESS, {batches_.data(), order.waves()}};
}

}  // namespace flotilla::dispatch
