// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/recorded_part.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <string_view>
#include <tuple>
#include <utility>

#include <flotilla/error/error.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

// Arguments of more bytes are not put into records, which the device reads over the bus.
constexpr std::uint32_t max_argument_bytes = launch::inline_bytes;
// How often a graph is built again with only the changed tasks taken out of their grids, and how
// often at all. Building a graph costs about a microsecond for each task. Without these limits, a
// program that gives another task another kernel before each replay would pay that in each replay.
constexpr std::size_t max_small_rebuilds = 8;
constexpr std::size_t max_rebuilds = 16;

/// Returns how many tasks of a kernel a level must have at least, so that they become a grid. A
/// grid makes all of its tasks' successors wait for the longest task. If kernels are long, that can
/// cost more than the grid saves: to start a kernel of a graph takes a GPU 180 ns, and it runs up
/// to 128 of them at once. So up to 64 long kernels that the device can start while one of them
/// runs are nodes of their own.
std::uint32_t min_on_level(float kernel_ns) noexcept {
  constexpr float long_kernel_ns = 8000;
  constexpr float node_ns = 180;
  if (kernel_ns < long_kernel_ns) { return 0; }
  return static_cast<std::uint32_t>(std::min(kernel_ns / node_ns, float{max_side_by_side} + 1));
}

}  // namespace

recorded_part::recorded_part(context::context_handle const& context, build_args const& args)
    : lists(args.plan.tasks.size()),
      context_(context),
      plan_(args.plan),
      kernels_(args.kernels),
      limits_(args.limits),
      counter_(args.counter),
      builtins_(args.builtins),
      memory_(args.memory),
      page_(args.page),
      memory_stream_(args.memory_stream),
      device_(args.plan.device),
      kernel_ns_(args.kernel_ns),
      group_(args.group),
      number_in_group_(args.number_in_group),
      task_kernels_(new std::atomic<std::uint32_t>[args.plan.tasks.size()]),
      alone_(args.plan.tasks.size(), false),
      deferred_(args.plan.tasks.size()) {
  auto const tasks = static_cast<std::uint32_t>(plan_.tasks.size());
  change_list contents{tasks};
  contents.reserve(tasks, 0);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    change_list::change made = args.actions.of(plan_.tasks[i]);
    std::byte const* const arguments = args.actions.arguments(made);
    made.task = i;
    contents.put(made, arguments);
  }
  name_kernels(contents);
  replaced_.reserve(max_rebuilds);
  graph_ = make_graph(contents, alone_);
}

void recorded_part::name_kernels(change_list const& contents) noexcept {
  for (change_list::change const& each : contents.changes()) {
    task_kernels_[each.task].store(each.kernel, std::memory_order_relaxed);
  }
}

std::vector<task_share> recorded_part::shares_of(change_list const& contents,
                                                 std::vector<bool> const& alone) const {
  using form = recorded_grid::form;
  auto const is_before = [](form const& one, form const& other) {
    auto const key = [](form const& of) {
      return std::tuple{of.kernel, of.shared_bytes, of.block.x, of.block.y, of.block.z};
    };
    return key(one) < key(other);
  };
  std::map<form, std::uint32_t, decltype(is_before)> forms{is_before};
  std::vector<task_share> made(plan_.tasks.size());
  made.resize(plan_.tasks.size() + plan_.exchanges.size(), {.is_exchange = true});
  for (change_list::change const& each : contents.changes()) {
    if (alone[each.task] || each.kernel == change_list::no_kernel) { continue; }
    kernel_entry const& kernel = kernels_.kernels[each.kernel];
    grid_limits::size const grid{each.grid.x, each.grid.y, each.grid.z};
    if (kernel.has_clusters || kernel.argument_bytes > max_argument_bytes ||
        !limits_.accept(kernel, grid, {each.block.x, each.block.y, each.block.z})) {
      continue;
    }
    auto const next = static_cast<std::uint32_t>(forms.size() + 1);
    auto const found = forms.try_emplace(form::of(each), next).first;
    made[each.task] = {found->second, static_cast<std::uint32_t>(grid_limits::count(grid)),
                       kernel_ns_ ? min_on_level(kernel_ns_(each.kernel)) : 0};
  }
  return made;
}

std::unique_ptr<recorded_graph> recorded_part::make_graph(change_list const& contents,
                                                          std::vector<bool>& alone) {
  std::vector<task_share> shares = shares_of(contents, alone);
  while (true) {
    node_plan plan = plan_nodes(plan_.after, plan_.levels, shares);
    bool const has_grids = plan.tasks.size() < shares.size();
    std::optional<std::uint32_t> refused_grid;
    try {
      return std::make_unique<recorded_graph>(
          context_, recorded_graph::build_args{
                        plan, contents, plan_.exchanges, group_.get(), number_in_group_, kernels_,
                        limits_, device_, counter_, builtins_, memory_, page_, memory_stream_,
                        [&](std::optional<std::uint32_t> task) { return subject(task, contents); },
                        refused_grid});
    } catch (driver_error const& why) {
      // A refused grid is replaced by single nodes, so that the driver's answer is about one task.
      // If the driver has no memory for the whole graph, a graph of more nodes would not help.
      bool const may_be_a_grid =
          refused_grid || (has_grids && why.status() != driver_status::out_of_memory);
      if (is_sticky(why.status()) || !may_be_a_grid) { throw; }
    }
    // If a grid was refused, other grids of this form would be, too.
    std::uint32_t const form = refused_grid ? shares[*refused_grid].form : 0;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      if (form != 0 && shares[i].form != form) { continue; }
      shares[i].form = 0;
      alone[i] = true;
    }
  }
}

std::string recorded_part::describe_kernel(std::uint32_t kernel) const {
  return kernel == change_list::no_kernel ? "a copy or fill"
                                          : "kernel '" + kernels_.kernels[kernel].name + "'";
}

std::string recorded_part::subject(std::optional<std::uint32_t> task,
                                   change_list const& contents) const {
  if (!task) { return describe() + ", " + context_.subject(); }
  return describe_kernel(contents.of(*task).kernel) + ", task " +
         std::to_string(plan_.tasks[*task]) + " of a recording, " + context_.subject();
}

void recorded_part::destroy() noexcept {
  if (graph_ != nullptr) { graph_->destroy(); }
  for (auto const& each : replaced_) { each->destroy(); }
}

recorded_part::refusal recorded_part::rewrite(std::uint32_t changes) {
  if (!damage_.ok()) {
    return {.why = damage_,
            .error = std::make_exception_ptr(driver_error(
                driver::status_of(damage_.status), damage_.call,
                describe() + ", whose graph may be damaged because the driver had no memory for an "
                             "earlier change (make the recording again)"))};
  }
  if (changes != change_lists::none) { ++version_; }
  if (deferred_.empty()) {
    return changes == change_lists::none ? rewrite_in_place(change_list{0})
                                         : rewrite(lists.at(changes));
  }
  // Deferred changes are older than the changes of this replay, so they come first. Some deferred
  // changes may already have been made. Making a change twice does no harm.
  if (changes != change_lists::none) { deferred_.put_all(lists.at(changes)); }
  return rewrite(deferred_);
}

recorded_part::refusal recorded_part::rewrite(change_list const& changes) {
  std::vector<std::uint32_t> apart;
  if (graph_->has_grids()) {
    for (change_list::change const& each : changes.changes()) {
      if (!graph_->can_hold(each)) { apart.push_back(each.task); }
    }
  }
  return apart.empty() ? rewrite_in_place(changes) : rebuild(changes, apart);
}

void recorded_part::note_damage(driver::call_outcome const& answer) noexcept {
  bool const is_update = std::string_view{answer.call}.starts_with("cuGraphExec");
  if (is_update && answer.status == CUDA_ERROR_OUT_OF_MEMORY) { damage_ = answer; }
}

recorded_part::refusal recorded_part::rewrite_in_place(change_list const& changes) {
  for (change_list::change const& change : changes.changes()) {
    driver::call_outcome const answer = graph_->put(change, changes.arguments(change));
    if (!answer.ok()) {
      note_damage(answer);
      return {answer, change.kernel};
    }
    task_kernels_[change.task].store(change.kernel, std::memory_order_relaxed);
  }
  recorded_graph::closed const closed = graph_->close_changes();
  if (closed.outcome.ok()) { return {}; }
  if (closed.too_large) { return rebuild(changes, {}); }  // the new plan makes smaller grids
  bool const is_out_of_memory = closed.outcome.status == CUDA_ERROR_OUT_OF_MEMORY;
  if (is_out_of_memory || is_sticky(driver::status_of(closed.outcome.status))) {
    note_damage(closed.outcome);
    return {closed.outcome, task_kernels_[closed.refused].load(std::memory_order_relaxed)};
  }
  return rebuild(changes, graph_->tasks_beside(closed.refused));
}

recorded_part::refusal recorded_part::rebuild(change_list const& changes,
                                              std::span<std::uint32_t const> apart) {
  try {
    change_list contents{plan_.tasks.size()};
    contents.reserve(plan_.tasks.size(), 0);
    graph_->copy_contents(contents);
    contents.put_all(changes);
    std::vector<bool> alone = alone_;
    for (std::uint32_t const task : apart) {
      alone[task] = true;
      if (replaced_.size() < max_small_rebuilds) { continue; }
      for (std::uint32_t const beside : graph_->tasks_beside(task)) { alone[beside] = true; }
    }
    if (replaced_.size() + 1 >= max_rebuilds) { alone.assign(alone.size(), true); }
    std::unique_ptr<recorded_graph> made = make_graph(contents, alone);
    replaced_.push_back(std::exchange(graph_, std::move(made)));  // never allocates
    alone_ = std::move(alone);
    name_kernels(contents);
    return {};
  } catch (driver_error const& why) {
    return {.why = {static_cast<CUresult>(why.status())}, .error = std::current_exception()};
  } catch (std::bad_alloc const&) {
    return {.why = {CUDA_ERROR_OUT_OF_MEMORY}, .error = std::current_exception()};
  }
}

void recorded_part::defer(std::uint32_t changes) {
  if (changes == change_lists::none) { return; }
  deferred_.put_all(lists.at(changes));
  lists.give_back(changes);
}

driver::call_outcome recorded_part::enqueue(lane const& lane, std::uint64_t number,
                                            std::uint64_t replay) {
  driver::call_outcome const answer = graph_->enqueue(lane, number, replay);
  note_damage(answer);
  if (answer.ok()) {
    deferred_.clear();
    launched_.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
  }
  return answer;
}

std::string recorded_part::describe() const {
  constexpr std::size_t max_named = 4;
  std::vector<std::uint32_t> seen;
  std::string names;
  for (std::size_t i = 0; i < plan_.tasks.size() && seen.size() <= max_named; ++i) {
    std::uint32_t const kernel = task_kernels_[i].load(std::memory_order_relaxed);
    bool const is_known = std::find(seen.begin(), seen.end(), kernel) != seen.end();
    if (kernel == change_list::no_kernel || is_known) { continue; }
    seen.push_back(kernel);
    names += seen.size() > max_named
                 ? " and others"
                 : (names.empty() ? "'" : ", '") + kernels_.kernels[kernel].name + "'";
  }
  return "a replay of " + std::to_string(plan_.tasks.size()) +
         (plan_.tasks.size() == 1 ? " recorded task" : " recorded tasks") +
         (names.empty() ? "" : std::string{seen.size() == 1 ? ", kernel " : ", kernels "} + names);
}

}  // namespace flotilla::dispatch
