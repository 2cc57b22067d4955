// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Recorded graphs: how they are built and destroyed.
#include <algorithm>
#include <utility>

#include <flotilla/error/error.hpp>

#include "dispatch/recording/memory_node.hpp"
#include "dispatch/recording/recorded_graph.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

constexpr std::size_t alignment = 64;  // the records of each grid begin on a cache line

bool has_all_calls(driver::table const& api) noexcept {
  return api.graph_create != nullptr && api.graph_add_kernel_node != nullptr &&
         api.graph_instantiate_with_params != nullptr &&
         api.graph_exec_kernel_node_set_params != nullptr && api.graph_launch != nullptr &&
         api.graph_add_memcpy_node != nullptr && api.graph_add_memset_node != nullptr &&
         api.graph_exec_memcpy_node_set_params != nullptr &&
         api.graph_add_batch_mem_op_node != nullptr &&
         api.graph_exec_batch_mem_op_node_set_params != nullptr &&
         api.graph_exec_memset_node_set_params != nullptr;
}

bool has_several_roots(node_plan const& plan) noexcept {
  std::size_t roots = 0;
  for (std::size_t node = 0; node < plan.after.size() && roots < 2; ++node) {
    roots += plan.after[node].empty() ? 1 : 0;
  }
  return roots > 1;
}

/// Returns the bytes of the first records of a grid, a multiple of `alignment`.
std::size_t bytes_of_records(change_list const& contents, std::span<std::uint32_t const> tasks,
                             std::uint32_t argument_bytes) {
  auto const blocks_of = [&](std::uint32_t task) {
    extent const& grid = contents.of(task).grid;
    return grid_limits::count({grid.x, grid.y, grid.z});
  };
  std::uint64_t const first = blocks_of(tasks[0]);
  std::uint64_t blocks = 0;
  bool even = true;
  for (std::uint32_t const task : tasks) {
    std::uint64_t const own = blocks_of(task);
    blocks += own;
    even = even && own == first;
  }
  std::size_t const bytes = recorded_grid::bytes_for(static_cast<std::uint32_t>(tasks.size()),
                                                     argument_bytes, even ? 0 : blocks);
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

recorded_graph::recorded_graph(context::context_handle const& context, build_args const& args)
    : context_(context),
      kernels_(args.kernels),
      limits_(args.limits),
      memory_(args.memory),
      device_(args.device),
      plan_(std::move(args.plan)),
      tasks_(static_cast<std::uint32_t>(plan_.node_of.size() - args.exchanges.size())),
      exchanges_(context, {args.exchanges, args.group, args.part, args.memory_stream}),
      nodes_(plan_.tasks.size()),
      memory_stream_(args.memory_stream) {
  if (!has_all_calls(context_.api())) {
    driver::check(CUDA_ERROR_NOT_SUPPORTED, "cuGraphCreate", context_.subject());
  }
  try {
    make_grids(args);
    build(args);
  } catch (...) {
    destroy();
    throw;
  }
}

void recorded_graph::make_grids(build_args const& args) {
  auto const nodes = static_cast<std::uint32_t>(nodes_.size());
  grid_of_.assign(nodes, no_grid);
  std::size_t count = 0;
  for (std::uint32_t node = 0; node < nodes; ++node) { count += plan_.is_grid(node) ? 1 : 0; }
  if (count == 0) { return; }
  grids_.reserve(count);
  changed_.reserve(count);  // so that `put` never allocates
  rank_.resize(plan_.node_of.size());
  std::vector<std::size_t> offsets{0};
  offsets.reserve(count + 1);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    std::span<std::uint32_t const> const tasks = plan_.tasks[node];
    if (is_exchange(tasks[0])) { continue; }
    change_list::change const& first = args.contents.of(tasks[0]);
    if (!plan_.is_grid(node)) {
      singles_.put(first, args.contents.arguments(first));
      continue;
    }
    for (std::uint32_t i = 0; i < tasks.size(); ++i) { rank_[tasks[i]] = i; }
    std::uint32_t const argument_bytes = kernels_.kernels[first.kernel].argument_bytes;
    offsets.push_back(offsets.back() + bytes_of_records(args.contents, tasks, argument_bytes));
    grid_of_[node] = static_cast<std::uint32_t>(grids_.size());
    grids_.emplace_back(recorded_grid::config{memory_, args.page, recorded_grid::form::of(first),
                                              static_cast<std::uint32_t>(tasks.size()),
                                              argument_bytes});
  }
  records_ = memory_.take(offsets.back());
  for (std::size_t i = 0; i < grids_.size(); ++i) {
    grids_[i].begin(
        {records_.host + offsets[i], records_.device + offsets[i], offsets[i + 1] - offsets[i]});
  }
  for (std::uint32_t node = 0; node < nodes; ++node) {
    if (grid_of_[node] != no_grid) { write_records(args.contents, node); }
  }
  copy_to_device(offsets.back());
}

void recorded_graph::write_records(change_list const& contents, std::uint32_t node) {
  recorded_grid& grid = grids_[grid_of_[node]];
  std::span<std::uint32_t const> const tasks = plan_.tasks[node];
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    change_list::change const& launch = contents.of(tasks[i]);
    grid.put(i, launch, contents.arguments(launch));
  }
  static_cast<void>(grid.close());  // the plan has limited the number of blocks
  grid.launched();
}

void recorded_graph::copy_to_device(std::size_t bytes) noexcept {
  driver::table const& api = context_.api();
  if (api.mem_alloc_async(&device_records_, bytes, memory_stream_) != CUDA_SUCCESS) {
    device_records_ = 0;
    return;
  }
  CUresult const answer =
      api.memcpy_htod_async(device_records_, records_.host, bytes, memory_stream_);
  if (answer == CUDA_SUCCESS) { copy_ = copy_state::in_flight; }
}

void recorded_graph::build(build_args const& args) {
  driver::check(context_.api().graph_create(&graph_, 0), "cuGraphCreate",
                [&] { return args.describe(std::nullopt); });
  build_nodes(args, add_entry(args));
  instantiate(args);
}

CUgraphNode recorded_graph::add_entry(build_args const& args) {
  driver::table const& api = context_.api();
  CUgraphNode entry = exchanges_.begin(graph_, args.builtins);
  if (entry == nullptr && args.builtins.entry != nullptr && has_several_roots(plan_)) {
    CUDA_KERNEL_NODE_PARAMS const nothing = one_block(args.builtins.entry, 1, nullptr);
    driver::check(api.graph_add_kernel_node(&entry, graph_, nullptr, 0, &nothing),
                  "cuGraphAddKernelNode", [&] { return args.describe(std::nullopt); });
  }
  return entry;
}

void recorded_graph::build_nodes(build_args const& args, CUgraphNode entry) {
  std::vector<CUgraphNode> ahead;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    ahead.clear();
    for (std::uint32_t const each : plan_.after[node]) { ahead.push_back(nodes_[each]); }
    if (ahead.empty() && entry != nullptr) { ahead.push_back(entry); }
    std::uint32_t const task = plan_.tasks[node][0];
    if (is_exchange(task)) {
      auto const answer = exchanges_.add(task - tasks_, graph_, ahead, nodes_[node]);
      driver::check(answer.status, answer.call, [&] { return args.describe(std::nullopt); });
      continue;
    }
    change_list::change const& first = args.contents.of(task);
    bool const is_grid = grid_of_[node] != no_grid;
    driver::call_outcome const answer =
        is_grid ? add_grid(node, ahead)
                : add_single(first, args.contents.arguments(first), node, ahead);
    if (!answer.ok() && is_grid) { args.refused_grid = task; }
    driver::check(answer.status, answer.call, [&] { return args.describe(task); });
  }
  ahead.clear();
  for (std::uint32_t const each : plan_.leaves) { ahead.push_back(nodes_[each]); }
  completion_.add(context_, graph_, ahead, args.counter, args.builtins.completion);
}

void recorded_graph::instantiate(build_args const& args) {
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  CUresult const answer = context_.api().graph_instantiate_with_params(&exec_, graph_, &parameters);
  if (answer == CUDA_SUCCESS) { return; }
  auto const found = std::find(nodes_.begin(), nodes_.end(), parameters.hErrNode_out);
  std::optional<std::uint32_t> task;
  if (parameters.hErrNode_out != nullptr && found != nodes_.end()) {
    auto const node = static_cast<std::uint32_t>(found - nodes_.begin());
    if (!is_exchange(plan_.tasks[node][0])) { task = plan_.tasks[node][0]; }
    if (grid_of_[node] != no_grid) { args.refused_grid = task; }
  }
  driver::check(answer, "cuGraphInstantiateWithParams", [&] { return args.describe(task); });
}

void recorded_graph::destroy() noexcept {
  driver::table const& api = context_.api();
  if (exec_ != nullptr) { api.graph_exec_destroy(std::exchange(exec_, nullptr)); }
  if (graph_ != nullptr) { api.graph_destroy(std::exchange(graph_, nullptr)); }
  for (recorded_grid& each : grids_) { each.give_back(); }
  if (copy_ == copy_state::in_flight) {
    memory_.give_back_after(memory_stream_, std::exchange(records_, {}));
  } else {
    memory_.give_back(std::exchange(records_, {}));
  }
  if (device_records_ != 0) {
    // In the stream of the copy, which may not have begun yet.
    api.mem_free_async(std::exchange(device_records_, 0), memory_stream_);
  }
  exchanges_.destroy();
}

}  // namespace flotilla::dispatch
