// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/graph/graph_exec.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "cpu_driver/stream/stream.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr auto nowhere = std::numeric_limits<std::uint32_t>::max();

/// CUDA can also disable copy and fill nodes. This driver can disable only kernel nodes.
bool can_be_disabled(node_work const& work) noexcept {
  return std::holds_alternative<kernel_work>(work);
}

}  // namespace

executable_graph::executable_graph(CUgraph source, unsigned long long flags,
                                   std::vector<planned_node> steps)
    : source_(source), flags_(flags) {
  steps_.reserve(steps.size());
  versions_.assign(steps.size(), version_);
  for (planned_node& each : steps) {
    if (each.index >= position_of_.size()) { position_of_.resize(each.index + 1, nowhere); }
    position_of_[each.index] = static_cast<std::uint32_t>(steps_.size());
    if (auto const* const kernel = std::get_if<kernel_work>(&each.work)) {
      if (std::find(contexts_.begin(), contexts_.end(), kernel->owner) == contexts_.end()) {
        contexts_.push_back(kernel->owner);
      }
    }
    steps_.push_back(
        {.enabled = true, .after = std::move(each.after), .work = std::move(each.work)});
  }
}

bool executable_graph::find(CUgraphNode node, std::size_t& position) const {
  auto const place = node_place::table().find(node);
  if (!place || place->owner != source_ || place->index >= position_of_.size() ||
      position_of_[place->index] == nowhere) {
    return false;
  }
  position = position_of_[place->index];
  return true;
}

void executable_graph::changed(std::size_t position) noexcept { versions_[position] = ++version_; }

CUresult executable_graph::enable(CUgraphNode node, bool enabled) {
  std::size_t position = 0;
  if (!find(node, position)) { return CUDA_ERROR_INVALID_VALUE; }
  std::lock_guard const lock(mutex_);
  graph_step& found = steps_[position];
  if (!can_be_disabled(found.work)) { return CUDA_ERROR_INVALID_VALUE; }
  if (std::exchange(found.enabled, enabled) != enabled) { changed(position); }
  return CUDA_SUCCESS;
}

CUresult executable_graph::is_enabled(CUgraphNode node, bool& enabled) const {
  std::size_t position = 0;
  if (!find(node, position)) { return CUDA_ERROR_INVALID_VALUE; }
  std::lock_guard const lock(mutex_);
  if (!can_be_disabled(steps_[position].work)) { return CUDA_ERROR_INVALID_VALUE; }
  enabled = steps_[position].enabled;
  return CUDA_SUCCESS;
}

CUresult executable_graph::launch(std::shared_ptr<executable_graph> const& self, stream& target) {
  // Hold the lock until the launch is in its stream. Otherwise a later launch could enter the
  // stream first, and the two launches would wait for each other.
  std::lock_guard const lock(mutex_);
  graph_run& run = runs_.take(steps_.size());
  auto const give_up = [&] {
    run.discard();
    runs_.return_unused(run);
  };
  operation* added = nullptr;
  try {
    run.copy(steps_, versions_, version_);
    if (CUresult const status = run.prepare(contexts_, target.resources())) {
      give_up();
      return status;
    }
    added = take_operation();
  } catch (...) {
    give_up();
    throw;
  }
  // From here on, no call can fail.
  run.begin(++launches_, self);
  added->what.emplace<run_task>(&run);
  target.push(added);
  return CUDA_SUCCESS;
}

}  // namespace flotilla::cpu_driver
