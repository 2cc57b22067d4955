// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/recorded_graph.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include <flotilla/error/error.hpp>

#include "dispatch/graph/launch_attributes.hpp"
#include "dispatch/graph/updatable.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

// With fewer nodes, rewriting by the driver takes less time than the start of a device update.
constexpr std::size_t min_updated_nodes = 16;

CUDA_MEMCPY3D copy_parameters(detail::memory_command const& what) {
  CUDA_MEMCPY3D made{};
  // CU_MEMORYTYPE_DEVICE means memory of the node's context. For a copy between devices, the driver
  // must find the device of each address itself.
  bool const is_between_devices =
      what.kind == memory_op_kind::device_to_device && what.device != what.from_device;
  made.srcMemoryType = made.dstMemoryType =
      is_between_devices ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_DEVICE;
  made.srcDevice = what.from;
  made.dstDevice = what.to;
  if (what.kind == memory_op_kind::host_to_device) {
    made.srcMemoryType = CU_MEMORYTYPE_HOST;
    made.srcHost = reinterpret_cast<void const*>(what.from);
  } else if (what.kind == memory_op_kind::device_to_host) {
    made.dstMemoryType = CU_MEMORYTYPE_HOST;
    made.dstHost = reinterpret_cast<void*>(what.to);
  }
  made.WidthInBytes = what.bytes;
  made.Height = made.Depth = 1;
  return made;
}

bool has_several_roots(planned_part const& plan) noexcept {
  return std::count_if(plan.after.begin(), plan.after.end(),
                       [](auto const& each) { return each.empty(); }) > 1;
}

bool has_all_calls(driver::table const& api) noexcept {
  return api.graph_create != nullptr && api.graph_add_kernel_node != nullptr &&
         api.graph_instantiate_with_params != nullptr &&
         api.graph_exec_kernel_node_set_params != nullptr && api.graph_launch != nullptr &&
         api.graph_add_memcpy_node != nullptr && api.graph_add_memset_node != nullptr &&
         api.graph_exec_memcpy_node_set_params != nullptr &&
         api.graph_exec_memset_node_set_params != nullptr;
}

}  // namespace

recorded_graph::recorded_graph(context::context_handle const& context, build_args const& args)
    : context_(context),
      kernels_(args.kernels),
      device_(args.plan.device),
      nodes_(args.plan.tasks.size()) {
  if (!has_all_calls(context_.api())) {
    driver::check(CUDA_ERROR_NOT_SUPPORTED, "cuGraphCreate", context_.subject());
  }
  std::span<change_list::node_update const> const all = args.contents.changes();
  auto const kernels = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [this](auto const& each) { return is_suitable(each); }));
  if (args.records != nullptr && args.builtins.update != nullptr && kernels >= min_updated_nodes &&
      context_.api().graph_kernel_node_set_attribute != nullptr &&
      context_.api().graph_upload != nullptr) {
    updates_ = std::make_unique<recorded_updates>(context_, *args.records, args.page,
                                                  args.builtins.update, nodes_.size());
    instantiated_as_.assign(all.begin(), all.end());
  }
  try {
    build(args);
  } catch (...) {
    destroy();
    throw;
  }
}

void recorded_graph::build(build_args const& args) {
  driver::table const& api = context_.api();
  driver::check(api.graph_create(&graph_, 0), "cuGraphCreate", context_.subject());
  CUgraphNode entry = nullptr;
  if (updates_ != nullptr) {
    entry = updates_->add_entry(graph_);
  } else if (args.builtins.entry != nullptr && has_several_roots(args.plan)) {
    CUDA_KERNEL_NODE_PARAMS const nothing = one_block(args.builtins.entry, 1, nullptr);
    driver::check(api.graph_add_kernel_node(&entry, graph_, nullptr, 0, &nothing),
                  "cuGraphAddKernelNode", context_.subject());
  }
  std::vector<CUgraphNode> ahead;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    ahead.clear();
    for (std::uint32_t const each : args.plan.after[i]) { ahead.push_back(nodes_[each]); }
    if (ahead.empty() && entry != nullptr) { ahead.push_back(entry); }
    change_list::node_update const& change = args.contents.changes()[i];
    driver::call_outcome const answer = write(change, args.contents.arguments(change), ahead);
    driver::check(answer.status, answer.call, [&] { return args.describe(i); });
    if (updates_ != nullptr && is_suitable(change)) {
      updates_->attach(i, nodes_[i], change.bytes);
    }
  }
  ahead.clear();
  for (std::uint32_t const each : args.plan.leaves) { ahead.push_back(nodes_[each]); }
  completion_.add(context_, graph_, ahead, args.counter, args.builtins.completion);
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  CUresult const answer = api.graph_instantiate_with_params(&exec_, graph_, &parameters);
  driver::check(answer, "cuGraphInstantiateWithParams", [&] {
    auto const found = std::find(nodes_.begin(), nodes_.end(), parameters.hErrNode_out);
    bool const known = parameters.hErrNode_out != nullptr && found != nodes_.end();
    return args.describe(known ? std::optional{static_cast<std::uint32_t>(found - nodes_.begin())}
                               : std::nullopt);
  });
}

bool recorded_graph::is_suitable(change_list::node_update const& change) const noexcept {
  return change.kernel != change_list::no_kernel &&
         change.bytes <= node_record::max_argument_bytes &&
         is_updatable(context_, kernels_.kernels[change.kernel].functions[device_]);
}

bool recorded_graph::can_become(change_list::node_update const& wanted) const noexcept {
  if (updates_ == nullptr || !updates_->has(wanted.node)) { return true; }
  change_list::node_update const& held = instantiated_as_[wanted.node];
  return held.kernel == wanted.kernel && held.shared_bytes == wanted.shared_bytes &&
         held.block.x == wanted.block.x && held.block.y == wanted.block.y &&
         held.block.z == wanted.block.z;
}

void recorded_graph::begin(std::size_t max_changes) noexcept {
  if (updates_ != nullptr) { updates_->begin(max_changes); }
}

driver::call_outcome recorded_graph::put(change_list::node_update const& change,
                                         std::byte const* arguments) {
  if (updates_ == nullptr || !updates_->has(change.node)) { return write(change, arguments, {}); }
  // The device would not refuse an invalid grid, and the driver does not see the grid. So check it
  // here.
  std::array<std::uint32_t, 3> const grid{change.grid.x, change.grid.y, change.grid.z};
  if (!is_valid_grid(grid)) { return {CUDA_ERROR_INVALID_VALUE, "cuGraphExecKernelNodeSetParams"}; }
  try {
    updates_->put(change.node, grid, arguments, change.bytes);
  } catch (driver_error const& why) {
    return {static_cast<CUresult>(why.status()), "cuMemHostRegister"};
  } catch (std::bad_alloc const&) { return {CUDA_ERROR_OUT_OF_MEMORY, "cuMemHostRegister"}; }
  return {};
}

driver::call_outcome recorded_graph::write(change_list::node_update const& change,
                                           std::byte const* arguments,
                                           std::span<CUgraphNode const> ahead) {
  driver::table const& api = context_.api();
  if (change.kernel == change_list::no_kernel) {
    detail::memory_command what;
    std::memcpy(&what, arguments, sizeof what);
    return write_memory_op(change.node, what, ahead);
  }
  if (change.shared_bytes != 0) {
    allow_shared_bytes(api, kernels_.kernels[change.kernel], device_, change.shared_bytes);
  }
  CUDA_KERNEL_NODE_PARAMS const& parameters =
      node_.fill(kernels_.kernels[change.kernel], device_,
                 {{change.grid.x, change.grid.y, change.grid.z},
                  {change.block.x, change.block.y, change.block.z},
                  change.shared_bytes,
                  arguments});
  if (exec_ != nullptr) {
    return {api.graph_exec_kernel_node_set_params(exec_, nodes_[change.node], &parameters),
            "cuGraphExecKernelNodeSetParams"};
  }
  return {api.graph_add_kernel_node(&nodes_[change.node], graph_, ahead.data(), ahead.size(),
                                    &parameters),
          "cuGraphAddKernelNode"};
}

driver::call_outcome recorded_graph::write_memory_op(std::uint32_t node,
                                                     detail::memory_command const& what,
                                                     std::span<CUgraphNode const> ahead) {
  driver::table const& api = context_.api();
  CUcontext const context = context_.handle();
  if (what.kind == memory_op_kind::fill) {
    unsigned value = 0;  // recorder::check refuses patterns longer than `value`
    std::memcpy(&value, what.pattern, what.pattern_bytes);
    CUDA_MEMSET_NODE_PARAMS const parameters{.dst = what.to,
                                             .pitch = 0,
                                             .value = value,
                                             .elementSize = what.pattern_bytes,
                                             .width = what.bytes / what.pattern_bytes,
                                             .height = 1};
    if (exec_ != nullptr) {
      return {api.graph_exec_memset_node_set_params(exec_, nodes_[node], &parameters, context),
              "cuGraphExecMemsetNodeSetParams"};
    }
    return {api.graph_add_memset_node(&nodes_[node], graph_, ahead.data(), ahead.size(),
                                      &parameters, context),
            "cuGraphAddMemsetNode"};
  }
  CUDA_MEMCPY3D const parameters = copy_parameters(what);
  if (exec_ != nullptr) {
    return {api.graph_exec_memcpy_node_set_params(exec_, nodes_[node], &parameters, context),
            "cuGraphExecMemcpyNodeSetParams"};
  }
  return {api.graph_add_memcpy_node(&nodes_[node], graph_, ahead.data(), ahead.size(), &parameters,
                                    context),
          "cuGraphAddMemcpyNode"};
}

void recorded_graph::destroy() noexcept {
  driver::table const& api = context_.api();
  if (exec_ != nullptr) { api.graph_exec_destroy(std::exchange(exec_, nullptr)); }
  if (graph_ != nullptr) { api.graph_destroy(std::exchange(graph_, nullptr)); }
  if (updates_ != nullptr) { updates_->give_back(); }
}

CUresult recorded_graph::enqueue(lane const& lane, std::uint64_t number) noexcept {
  CUresult answer = completion_.set(context_, exec_, lane.counter(), number);
  if (answer == CUDA_SUCCESS && updates_ != nullptr) { answer = updates_->set_entry(exec_); }
  if (answer == CUDA_SUCCESS) { answer = context_.api().graph_launch(exec_, lane.stream()); }
  if (answer == CUDA_SUCCESS && updates_ != nullptr) { updates_->launched(lane.index(), number); }
  return answer;
}

CUresult recorded_graph::upload(CUstream stream) noexcept {
  auto const call = context_.api().graph_upload;
  return call == nullptr ? CUDA_SUCCESS : call(exec_, stream);
}

}  // namespace flotilla::dispatch
