// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/recorded_part.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <flotilla/error/error.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

recorded_part::recorded_part(context::context_handle const& context, build_args const& args)
    : lists(args.plan.tasks.size()),
      context_(context),
      plan_(args.plan),
      kernels_(args.kernels),
      counter_(args.counter),
      builtins_(args.builtins),
      page_(args.page),
      device_(args.plan.device),
      node_kernels_(new std::atomic<std::uint32_t>[args.plan.tasks.size()]),
      current_(args.plan.tasks.size()),
      deferred_(args.plan.tasks.size()) {
  for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) {
    std::visit([&](auto const& action) { current_.put(i, action); }, args.actions[plan_.tasks[i]]);
    node_kernels_[i].store(current_.changes()[i].kernel, std::memory_order_relaxed);
  }
  try {
    graph_ = make_graph(&args.records);
  } catch (driver_error const& why) {
    // The driver may still accept these nodes in a graph that is not device-updated.
    if (args.builtins.update == nullptr || is_sticky(why.status())) { throw; }
    graph_ = make_graph(nullptr);
  }
  if (!graph_->is_device_updated()) { current_ = change_list{0}; }
}

std::unique_ptr<recorded_graph> recorded_part::make_graph(registered_slabs* records) {
  return std::make_unique<recorded_graph>(
      context_, recorded_graph::build_args{
                    plan_, current_, kernels_, counter_, builtins_, records, page_,
                    [this](std::optional<std::uint32_t> node) { return subject(node); }});
}

std::string recorded_part::describe_kernel(std::uint32_t kernel) const {
  return kernel == change_list::no_kernel ? "a copy or fill"
                                          : "kernel '" + kernels_.kernels[kernel].name + "'";
}

std::string recorded_part::subject(std::optional<std::uint32_t> node) const {
  if (!node) { return describe() + ", " + context_.subject(); }
  return describe_kernel(node_kernels_[*node].load(std::memory_order_relaxed)) + ", task " +
         std::to_string(plan_.tasks[*node]) + " of a recording, " + context_.subject();
}

void recorded_part::destroy() noexcept {
  if (graph_ != nullptr) { graph_->destroy(); }
  if (retired_graph_ != nullptr) { retired_graph_->destroy(); }
}

recorded_part::refusal recorded_part::rewrite(std::uint32_t changes) {
  if (!damage_.ok()) {
    return {.why = damage_,
            .error = std::make_exception_ptr(driver_error(
                driver::status_of(damage_.status), damage_.call,
                describe() + ", whose graph may be damaged because the driver had no memory for an "
                             "earlier change (make the recording again)"))};
  }
  if (deferred_.empty()) {
    if (changes != change_lists::none) { return rewrite(lists.at(changes)); }
    graph_->begin(0);
    return {};
  }
  // Deferred changes are older than the changes of this replay, so they come first. Some deferred
  // changes may already have been made. Making a change twice does no harm.
  if (changes != change_lists::none) { deferred_.put_all(lists.at(changes)); }
  return rewrite(deferred_);
}

recorded_part::refusal recorded_part::rewrite(change_list const& changes) {
  std::span<change_list::node_update const> const all = changes.changes();
  if (graph_->is_device_updated()) {
    current_.put_all(changes);
    bool const possible = std::all_of(
        all.begin(), all.end(), [this](auto const& change) { return graph_->can_become(change); });
    if (!possible) { return stop_device_updates(); }
  }
  graph_->begin(all.size());
  for (change_list::node_update const& change : all) {
    driver::call_outcome const answer = graph_->put(change, changes.arguments(change));
    if (!answer.ok()) {
      bool const is_update = std::string_view{answer.call}.starts_with("cuGraphExec");
      if (is_update && answer.status == CUDA_ERROR_OUT_OF_MEMORY) { damage_ = answer; }
      return {answer, change.kernel};
    }
    node_kernels_[change.node].store(change.kernel, std::memory_order_relaxed);
  }
  return {};
}

recorded_part::refusal recorded_part::stop_device_updates() {
  std::vector<std::uint32_t> before;  // the old values of node_kernels_, to restore them on failure
  auto const name_all = [&](auto const& kernel_of) {
    for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) {
      node_kernels_[i].store(kernel_of(i), std::memory_order_relaxed);
    }
  };
  try {
    for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) {
      before.push_back(node_kernels_[i].load(std::memory_order_relaxed));
    }
    name_all([this](std::uint32_t i) { return current_.changes()[i].kernel; });
    std::unique_ptr<recorded_graph> made = make_graph(nullptr);
    retired_graph_ = std::exchange(graph_, std::move(made));
    current_ = change_list{0};
    return {};
  } catch (driver_error const& why) {
    name_all([&](std::uint32_t i) { return before[i]; });
    return {.why = {static_cast<CUresult>(why.status())}, .error = std::current_exception()};
  } catch (std::bad_alloc const&) {
    if (before.size() == plan_.tasks.size()) {
      name_all([&](std::uint32_t i) { return before[i]; });
    }
    return {.why = {CUDA_ERROR_OUT_OF_MEMORY}, .error = std::current_exception()};
  }
}

void recorded_part::defer(std::uint32_t changes) {
  if (changes == change_lists::none) { return; }
  deferred_.put_all(lists.at(changes));
  lists.give_back(changes);
}

CUresult recorded_part::enqueue(lane const& lane, std::uint64_t number) noexcept {
  CUresult const answer = graph_->enqueue(lane, number);
  if (answer == CUDA_SUCCESS) { deferred_.clear(); }
  return answer;
}

CUresult recorded_part::upload(CUstream stream) {
  CUresult answer = graph_->upload(stream);
  if (answer == CUDA_SUCCESS && graph_->is_device_updated()) {
    answer = context_.api().stream_synchronize(stream);
  }
  if (answer == CUDA_SUCCESS || !graph_->is_device_updated() ||
      is_sticky(driver::status_of(answer))) {
    return answer;
  }
  refusal const refused = stop_device_updates();
  if (refused.error != nullptr) { std::rethrow_exception(refused.error); }
  return CUDA_SUCCESS;
}

std::string recorded_part::describe() const {
  constexpr std::size_t max_named = 4;
  std::vector<std::uint32_t> seen;
  std::string names;
  for (std::size_t i = 0; i < plan_.tasks.size() && seen.size() <= max_named; ++i) {
    std::uint32_t const kernel = node_kernels_[i].load(std::memory_order_relaxed);
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
