// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/ordered_launcher.hpp"

#include <exception>
#include <iterator>
#include <new>

#include <flotilla/error/error.hpp>

#include "dispatch/graph/launch_attributes.hpp"

namespace flotilla::dispatch {

using detail::twin_order;

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
  words_of_launch_ = words_.of(parts_.records.piece());
  if (words_of_launch_ == nullptr) { parts_.records.give_back(); }
  return words_of_launch_ != nullptr;
}

CUresult ordered_launcher::make_graph(ordered_parts const& others, batch_traits const& traits) {
  grid_order const& order = *own_.order;
  slot const& form = parts_.tasks.at(order.tasks()[0]);
  kernel_entry const& kernel = parts_.kernels.kernels[form.kernel];
  unsigned const device = parts_.lanes.device();
  grid_records::written const written = parts_.records.write(order.tasks(), kernel.argument_bytes);
  detail::ordered_twin_parameters parameters = order_.write(
      own_, others, is_joint_ ? twin_order::undecided | twin_order::awaited_elsewhere : 0);
  parameters.launches = written.parameters;
  parameters.counter = lane_->counter();
  parameters.first_number = lane_->last_number() + 1;
  parameters.stop = parts_.launcher.stop_address();
  ordered_node const node{kernel.twin.ordered[device], form, written.blocks, parameters};
  carrier_ = &parts_.launcher.templates().take(
      {{1, 1, 1}, parts_.launcher.completion_for(traits, 1), traits.device_wait.valid()}, node.node,
      lane_->counter());
  CUresult answer = carrier_->set(0, node.node);
  if (answer == CUDA_SUCCESS && traits.device_wait.valid()) {
    answer = parts_.launcher.set_wait(*carrier_, traits.device_wait);
  }
  // After a lack of memory the graph may be damaged (see batch_launcher::prepare), so it is never
  // used again.
  if (answer == CUDA_ERROR_OUT_OF_MEMORY) { carrier_ = nullptr; }
  return answer;
}

CUresult ordered_launcher::prepare(lane& lane, ordered_part const& own, ordered_parts const& others,
                                   batch_traits const& traits) {
  own_ = own;
  lane_ = &lane;
  carrier_ = nullptr;
  long_running_ = traits.long_running;
  is_joint_ = !others.together.empty();
  CUresult answer = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    answer = make_graph(others, traits);
  } catch (driver_error const& why) {
    answer = static_cast<CUresult>(why.status());
  } catch (std::bad_alloc const&) {}
  if (answer != CUDA_SUCCESS) {
    cancel();
    return answer;
  }
  for (std::uint32_t i = 0; i < own.order->waves(); ++i) { batches_[i] = &lane.begin(); }
  batches_[0]->waits_on_device = traits.device_wait.valid();
  return CUDA_SUCCESS;
}

void ordered_launcher::cancel() {
  lane_->cancel();
  parts_.records.give_back();
  if (carrier_ != nullptr) { parts_.launcher.give_back(*carrier_); }
}

CUresult ordered_launcher::start() {
  std::uint64_t const last = batches_[own_.order->waves() - 1]->number;
  CUresult const answer = carrier_->launch(lane_->stream(), lane_->counter(), last);
  if (answer != CUDA_SUCCESS) { cancel(); }
  return answer;
}

std::span<lane::batch* const> ordered_launcher::commit(bool runs) {
  grid_order const& order = *own_.order;
  if (is_joint_) {
    order_.decide(twin_order::awaited_elsewhere | (runs ? 0 : twin_order::skipped));
  }
  order_.commit(own_);
  lane_->commit();
  for (std::size_t i = 0; i < order.tasks().size() && runs; ++i) {
    lane::batch& batch = *batches_[order.nodes()[i].wave];
    batch.tasks[batch.count++] = order.tasks()[i];
  }
  for (std::uint32_t i = 0; i < order.waves(); ++i) {
    batches_[i]->long_running = long_running_;
    batches_[i]->in_joint_run = is_joint_;
    if (i + 1 < order.waves()) { lane_->note_beside_next(*batches_[i]); }
  }
  lane::batch& last = *batches_[order.waves() - 1];
  last.carrier = carrier_;
  last.records = parts_.records.release();
  return {batches_.data(), order.waves()};
}

}  // namespace flotilla::dispatch
