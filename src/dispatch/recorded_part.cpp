#include "dispatch/recorded_part.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <flotilla/error.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

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

}  // namespace

recorded_part::recorded_part(context::floating_context const& context, making const& from)
    : lists(from.plan.tasks.size()), context_(context), table_(from.table), device_(from.plan.device),
      nodes_(from.plan.tasks.size()), kernels_(new std::atomic<std::uint32_t>[from.plan.tasks.size()]),
      owed_(from.plan.tasks.size()) {
  try {
    build(from);
  } catch (...) {
    destroy();
    throw;
  }
}

void recorded_part::build(making const& from) {
  driver::table const& api = context_.api();
  if (api.graph_create == nullptr || api.graph_add_kernel_node == nullptr || api.graph_instantiate_with_params == nullptr ||
      api.graph_exec_kernel_node_set_params == nullptr || api.graph_launch == nullptr ||
      api.graph_add_memcpy_node == nullptr || api.graph_add_memset_node == nullptr ||
      api.graph_exec_memcpy_node_set_params == nullptr || api.graph_exec_memset_node_set_params == nullptr) {
    driver::check(CUDA_ERROR_NOT_SUPPORTED, "cuGraphCreate", context_.subject());
  }
  driver::check(api.graph_create(&graph_, 0), "cuGraphCreate", context_.subject());
  std::vector<CUgraphNode> ahead;
  change_list one{nodes_.size()};
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    ahead.clear();
    for (std::uint32_t const each : from.plan.after[i]) { ahead.push_back(nodes_[each]); }
    std::visit([&](auto const& what) { one.put(i, what); }, from.actions[from.plan.tasks[i]]);
    change_list::change const& what = one.changes().front();
    kernels_[i].store(what.kernel, std::memory_order_relaxed);
    outcome const came = put(what, one.arguments(what), ahead);
    driver::check(came.status, came.call, [&] { return subject(from, i); });
    one.clear();
  }
  ahead.clear();
  for (std::uint32_t const each : from.plan.leaves) { ahead.push_back(nodes_[each]); }
  end_.add(context_, graph_, ahead, from.counter, from.marker);
  CUDA_GRAPH_INSTANTIATE_PARAMS how{};
  CUresult const answer = api.graph_instantiate_with_params(&exec_, graph_, &how);
  driver::check(answer, "cuGraphInstantiateWithParams", [&] {
    auto const found = std::find(nodes_.begin(), nodes_.end(), how.hErrNode_out);
    return how.hErrNode_out == nullptr || found == nodes_.end()
             ? describe() + ", " + context_.subject()
             : subject(from, static_cast<std::uint32_t>(found - nodes_.begin()));
  });
}

recorded_part::outcome recorded_part::put(change_list::change const& what, std::byte const* arguments,
                                          std::span<CUgraphNode const> ahead) {
  driver::table const& api = context_.api();
  if (what.kernel == change_list::no_kernel) {
    transfer copied;
    std::memcpy(&copied, arguments, sizeof copied);
    return put_transfer(what.node, copied, ahead);
  }
  CUDA_KERNEL_NODE_PARAMS const parameters =
    parameters_of(what, arguments, table_.kernels[what.kernel], device_, pointers_);
  if (exec_ != nullptr) {
    return {api.graph_exec_kernel_node_set_params(exec_, nodes_[what.node], &parameters), "cuGraphExecKernelNodeSetParams"};
  }
  return {api.graph_add_kernel_node(&nodes_[what.node], graph_, ahead.data(), ahead.size(), &parameters),
          "cuGraphAddKernelNode"};
}

recorded_part::outcome recorded_part::put_transfer(std::uint32_t node, transfer const& what,
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

std::string recorded_part::words(std::uint32_t kernel) const {
  return kernel == change_list::no_kernel ? "a copy or fill" : "kernel '" + table_.kernels[kernel].name + "'";
}

std::string recorded_part::subject(making const& from, std::uint32_t node) const {
  return words(kernels_[node].load(std::memory_order_relaxed)) + ", task " + std::to_string(from.plan.tasks[node]) +
         " of a recording, " + context_.subject();
}

void recorded_part::destroy() noexcept {
  driver::table const& api = context_.api();
  if (exec_ != nullptr) { api.graph_exec_destroy(std::exchange(exec_, nullptr)); }
  if (graph_ != nullptr) { api.graph_destroy(std::exchange(graph_, nullptr)); }
}

recorded_part::refusal recorded_part::rewrite(std::uint32_t changes) {
  if (owed_.empty()) { return changes == change_lists::none ? refusal{} : rewrite(lists.at(changes)); }
  // What is owed is older than what this replay changes; all of it is tried again, which does no harm.
  if (changes != change_lists::none) { owed_.put_all(lists.at(changes)); }
  refusal const answer = rewrite(owed_);
  if (answer.status == CUDA_SUCCESS) { owed_.clear(); }
  return answer;
}

recorded_part::refusal recorded_part::rewrite(change_list const& changes) {
  for (change_list::change const& each : changes.changes()) {
    outcome const came = put(each, changes.arguments(each), {});
    if (came.status != CUDA_SUCCESS) { return {came.status, came.call, each.kernel}; }
    kernels_[each.node].store(each.kernel, std::memory_order_relaxed);
  }
  return {};
}

void recorded_part::owe(std::uint32_t changes) {
  if (changes == change_lists::none) { return; }
  owed_.put_all(lists.at(changes));
  lists.give_back(changes);
}

CUresult recorded_part::enqueue(CUstream stream, CUdeviceptr counter, std::uint64_t number) noexcept {
  CUresult const answer = end_.set(context_, exec_, counter, number);
  return answer != CUDA_SUCCESS ? answer : context_.api().graph_launch(exec_, stream);
}

CUresult recorded_part::upload(CUstream stream) noexcept {
  auto const call = context_.api().graph_upload;
  return call == nullptr ? CUDA_SUCCESS : call(exec_, stream);
}

std::string recorded_part::describe() const {
  constexpr std::size_t most_named = 4;
  std::vector<std::uint32_t> seen;
  std::string names;
  for (std::size_t i = 0; i < nodes_.size() && seen.size() <= most_named; ++i) {
    std::uint32_t const kernel = kernels_[i].load(std::memory_order_relaxed);
    if (kernel == change_list::no_kernel || std::find(seen.begin(), seen.end(), kernel) != seen.end()) { continue; }
    seen.push_back(kernel);
    names += seen.size() > most_named ? " and others" : (names.empty() ? "'" : ", '") + table_.kernels[kernel].name + "'";
  }
  return "a replay of " + std::to_string(nodes_.size()) + (nodes_.size() == 1 ? " recorded task" : " recorded tasks") +
         (names.empty() ? "" : std::string{seen.size() == 1 ? ", kernel " : ", kernels "} + names);
}

std::uint32_t recorded_parts::add(std::shared_ptr<recorded_part> part) {
  std::lock_guard const lock{mutex_};
  if (free_.empty()) {
    parts_.push_back(std::move(part));
    return static_cast<std::uint32_t>(parts_.size() - 1);
  }
  std::uint32_t const index = free_.back();
  free_.pop_back();
  parts_[index] = std::move(part);
  return index;
}

std::shared_ptr<recorded_part> recorded_parts::get(std::uint32_t index) const {
  std::lock_guard const lock{mutex_};
  return index < parts_.size() ? parts_[index] : nullptr;
}

std::shared_ptr<recorded_part> recorded_parts::take(std::uint32_t index) {
  std::lock_guard const lock{mutex_};
  std::shared_ptr<recorded_part> taken = std::move(parts_[index]);
  free_.push_back(index);
  return taken;
}

void recorded_parts::destroy_all_of(unsigned device) noexcept {
  std::lock_guard const lock{mutex_};
  for (auto const& each : parts_) {
    if (each != nullptr && each->device() == device) { each->destroy(); }
  }
}

}  // namespace flotilla::dispatch
