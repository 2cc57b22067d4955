#include "dispatch/recorded_graph.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include <flotilla/error.hpp>

#include "dispatch/updatable.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

// Below, the driver has rewritten the nodes before a device would have begun to.
constexpr std::size_t fewest_updated = 16;

/// Valid until `pointers` or the arguments change.
CUDA_KERNEL_NODE_PARAMS parameters_of(change_list::change const& what, std::byte const* arguments,
                                      kernel_entry const& kernel, unsigned device, std::vector<void*>& pointers) {
  if (pointers.size() < kernel.parameters.size()) { pointers.resize(kernel.parameters.size()); }
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    pointers[i] = const_cast<std::byte*>(arguments) + kernel.parameters[i].offset;  // the driver only reads
  }
  CUDA_KERNEL_NODE_PARAMS made{};
  made.func = kernel.functions[device];
  made.gridDimX = what.grid.x;
  made.gridDimY = what.grid.y;
  made.gridDimZ = what.grid.z;
  made.blockDimX = what.block.x;
  made.blockDimY = what.block.y;
  made.blockDimZ = what.block.z;
  made.sharedMemBytes = what.shared_bytes;
  made.kernelParams = pointers.data();
  return made;
}

CUDA_MEMCPY3D parameters_of(transfer const& what) {
  CUDA_MEMCPY3D made{};
  made.srcMemoryType = made.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  made.srcDevice = what.from;
  made.dstDevice = what.to;
  if (what.kind == transfer::kinds::host_to_device) {
    made.srcMemoryType = CU_MEMORYTYPE_HOST;
    made.srcHost = reinterpret_cast<void const*>(what.from);
  } else if (what.kind == transfer::kinds::device_to_host) {
    made.dstMemoryType = CU_MEMORYTYPE_HOST;
    made.dstHost = reinterpret_cast<void*>(what.to);
  }
  made.WidthInBytes = what.bytes;
  made.Height = made.Depth = 1;
  return made;
}

bool has_several_roots(planned_part const& plan) noexcept {
  return std::count_if(plan.after.begin(), plan.after.end(), [](auto const& each) { return each.empty(); }) > 1;
}

bool has_all(driver::table const& api) noexcept {
  return api.graph_create != nullptr && api.graph_add_kernel_node != nullptr && api.graph_instantiate_with_params != nullptr &&
         api.graph_exec_kernel_node_set_params != nullptr && api.graph_launch != nullptr &&
         api.graph_add_memcpy_node != nullptr && api.graph_add_memset_node != nullptr &&
         api.graph_exec_memcpy_node_set_params != nullptr && api.graph_exec_memset_node_set_params != nullptr;
}

}  // namespace

recorded_graph::recorded_graph(context::floating_context const& context, making const& from)
    : context_(context), table_(from.table), device_(from.plan.device), nodes_(from.plan.tasks.size()) {
  if (!has_all(context_.api())) { driver::check(CUDA_ERROR_NOT_SUPPORTED, "cuGraphCreate", context_.subject()); }
  std::span<change_list::change const> const all = from.holds.changes();
  auto const kernels =
      static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [this](auto const& each) { return suits(each); }));
  if (from.records != nullptr && from.own.updater != nullptr && kernels >= fewest_updated &&
      context_.api().graph_kernel_node_set_attribute != nullptr && context_.api().graph_upload != nullptr) {
    updates_ = std::make_unique<recorded_updates>(context_, *from.records, from.page, from.own.updater, nodes_.size());
    made_as_.assign(all.begin(), all.end());
  }
  try {
    build(from);
  } catch (...) {
    destroy();
    throw;
  }
}

void recorded_graph::build(making const& from) {
  driver::table const& api = context_.api();
  driver::check(api.graph_create(&graph_, 0), "cuGraphCreate", context_.subject());
  CUgraphNode root = nullptr;
  if (updates_ != nullptr) {
    root = updates_->add_root(graph_);
  } else if (from.own.root != nullptr && has_several_roots(from.plan)) {
    CUDA_KERNEL_NODE_PARAMS const nothing = one_block(from.own.root, 1, nullptr);
    driver::check(api.graph_add_kernel_node(&root, graph_, nullptr, 0, &nothing), "cuGraphAddKernelNode", context_.subject());
  }
  std::vector<CUgraphNode> ahead;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    ahead.clear();
    for (std::uint32_t const each : from.plan.after[i]) { ahead.push_back(nodes_[each]); }
    if (ahead.empty() && root != nullptr) { ahead.push_back(root); }
    change_list::change const& what = from.holds.changes()[i];
    outcome const came = write(what, from.holds.arguments(what), ahead);
    driver::check(came.status, came.call, [&] { return from.name(i); });
    if (updates_ != nullptr && suits(what)) { updates_->attach(i, nodes_[i], what.bytes); }
  }
  ahead.clear();
  for (std::uint32_t const each : from.plan.leaves) { ahead.push_back(nodes_[each]); }
  end_.add(context_, graph_, ahead, from.counter, from.own.marker);
  CUDA_GRAPH_INSTANTIATE_PARAMS how{};
  CUresult const answer = api.graph_instantiate_with_params(&exec_, graph_, &how);
  driver::check(answer, "cuGraphInstantiateWithParams", [&] {
    auto const found = std::find(nodes_.begin(), nodes_.end(), how.hErrNode_out);
    bool const known = how.hErrNode_out != nullptr && found != nodes_.end();
    return from.name(known ? std::optional{static_cast<std::uint32_t>(found - nodes_.begin())} : std::nullopt);
  });
}

bool recorded_graph::suits(change_list::change const& what) const noexcept {
  return what.kernel != change_list::no_kernel && what.bytes <= node_record::most_argument_bytes &&
         is_updatable(context_, table_.kernels[what.kernel].functions[device_]);
}

bool recorded_graph::can_become(change_list::change const& wanted) const noexcept {
  if (updates_ == nullptr || !updates_->has(wanted.node)) { return true; }
  change_list::change const& held = made_as_[wanted.node];
  return held.kernel == wanted.kernel && held.shared_bytes == wanted.shared_bytes && held.block.x == wanted.block.x &&
         held.block.y == wanted.block.y && held.block.z == wanted.block.z;
}

void recorded_graph::begin(std::size_t changes) noexcept {
  if (updates_ != nullptr) { updates_->begin(changes); }
}

recorded_graph::outcome recorded_graph::put(change_list::change const& what, std::byte const* arguments) {
  if (updates_ == nullptr || !updates_->has(what.node)) { return write(what, arguments, {}); }
  // As the driver would say, were it asked.
  std::array<std::uint32_t, 3> const grid{what.grid.x, what.grid.y, what.grid.z};
  if (!is_valid_grid(grid)) { return {CUDA_ERROR_INVALID_VALUE, "cuGraphExecKernelNodeSetParams"}; }
  try {
    updates_->put(what.node, grid, arguments, what.bytes);
  } catch (driver_error const& why) {
    return {static_cast<CUresult>(why.status()), "cuMemHostRegister"};
  } catch (std::bad_alloc const&) { return {CUDA_ERROR_OUT_OF_MEMORY, "cuMemHostRegister"}; }
  return {CUDA_SUCCESS, ""};
}

recorded_graph::outcome recorded_graph::write(change_list::change const& what, std::byte const* arguments,
                                              std::span<CUgraphNode const> ahead) {
  driver::table const& api = context_.api();
  if (what.kernel == change_list::no_kernel) {
    transfer copied;
    std::memcpy(&copied, arguments, sizeof copied);
    return write_transfer(what.node, copied, ahead);
  }
  CUDA_KERNEL_NODE_PARAMS const parameters =
    parameters_of(what, arguments, table_.kernels[what.kernel], device_, pointers_);
  if (exec_ != nullptr) {
    return {api.graph_exec_kernel_node_set_params(exec_, nodes_[what.node], &parameters), "cuGraphExecKernelNodeSetParams"};
  }
  return {api.graph_add_kernel_node(&nodes_[what.node], graph_, ahead.data(), ahead.size(), &parameters),
          "cuGraphAddKernelNode"};
}

recorded_graph::outcome recorded_graph::write_transfer(std::uint32_t node, transfer const& what,
                                                   std::span<CUgraphNode const> ahead) {
  driver::table const& api = context_.api();
  CUcontext const in = context_.handle();
  if (what.kind == transfer::kinds::fill) {
    CUDA_MEMSET_NODE_PARAMS const parameters{.dst = what.to, .pitch = 0, .value = what.fill_value,
                                             .elementSize = what.fill_width, .width = what.bytes / what.fill_width,
                                             .height = 1};
    if (exec_ != nullptr) {
      return {api.graph_exec_memset_node_set_params(exec_, nodes_[node], &parameters, in), "cuGraphExecMemsetNodeSetParams"};
    }
    return {api.graph_add_memset_node(&nodes_[node], graph_, ahead.data(), ahead.size(), &parameters, in),
            "cuGraphAddMemsetNode"};
  }
  CUDA_MEMCPY3D const parameters = parameters_of(what);
  if (exec_ != nullptr) {
    return {api.graph_exec_memcpy_node_set_params(exec_, nodes_[node], &parameters, in), "cuGraphExecMemcpyNodeSetParams"};
  }
  return {api.graph_add_memcpy_node(&nodes_[node], graph_, ahead.data(), ahead.size(), &parameters, in),
          "cuGraphAddMemcpyNode"};
}

void recorded_graph::destroy() noexcept {
  driver::table const& api = context_.api();
  if (exec_ != nullptr) { api.graph_exec_destroy(std::exchange(exec_, nullptr)); }
  if (graph_ != nullptr) { api.graph_destroy(std::exchange(graph_, nullptr)); }
  if (updates_ != nullptr) { updates_->give_back(); }
}

CUresult recorded_graph::enqueue(lane const& on, std::uint64_t number) noexcept {
  CUresult answer = end_.set(context_, exec_, on.counter(), number);
  if (answer == CUDA_SUCCESS && updates_ != nullptr) { answer = updates_->set_root(exec_); }
  if (answer == CUDA_SUCCESS) { answer = context_.api().graph_launch(exec_, on.stream()); }
  if (answer == CUDA_SUCCESS && updates_ != nullptr) { updates_->launched(on.index(), number); }
  return answer;
}

CUresult recorded_graph::upload(CUstream stream) noexcept {
  auto const call = context_.api().graph_upload;
  return call == nullptr ? CUDA_SUCCESS : call(exec_, stream);
}

}  // namespace flotilla::dispatch
