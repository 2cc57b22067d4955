// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/order/task_planner.hpp"

#include <algorithm>

namespace flotilla::flows {

using detail::access_mode;

task_planner::task_planner(dispatch::runtime_state& runtime, flow_options const& options)
    : log_(options.keeps_graph),
      mover_(runtime, log_),
      order_(mover_, log_),
      residency_(runtime, options, mover_),
      reducer_(runtime, residency_, order_),
      tiler_(mover_, residency_, reducer_),
      uses_(runtime.infos().size() + 1) {}

obstacle task_planner::prepare(std::span<detail::datum_use const> uses, place where, int priority,
                               std::size_t& copies) {
  for (detail::datum_use const& use : uses) {
    if (use.what->tiles == nullptr && use.what->reduction == nullptr) [[likely]] { continue; }
    if (use.how != nullptr) { continue; }  // a part of the reduction
    bool const reads = use.mode != access_mode::write;
    obstacle const why = reads ? settle(*use.what, priority) : tiler_.join(*use.what, priority);
    if (why) { return why; }
  }
  return residency_.prepare(uses, where, priority, copies);
}

obstacle task_planner::settle(detail::datum& which, int priority) {
  if (obstacle const why = tiler_.join(which, priority)) { return why; }
  return reducer_.combine(which, priority);
}

obstacle task_planner::replace_reductions(std::span<detail::datum_use> uses, place where,
                                          int priority) {
  for (detail::datum_use& use : uses) {
    if (use.mode != access_mode::reduce) { continue; }
    if (obstacle const why = tiler_.join(*use.what, priority)) { return why; }
    if (obstacle const why = reducer_.replace(use, where, priority)) { return why; }
  }
  return {};
}

void task_planner::commit(std::span<detail::datum_use const> uses,
                          std::span<detail::datum_use const> actual,
                          submitted_task const& task) noexcept {
  for (detail::datum_use const& use : uses) {
    if (use.what->reduction == nullptr) [[likely]] { continue; }
    if (use.mode == access_mode::write) { reducer_.discard(*use.what); }
    if (use.mode == access_mode::reduce) { reducer::note_result(*use.what); }
  }
  order_.commit(actual, task);
}

void task_planner::release_memory(detail::datum& which) noexcept {
  for (std::size_t i = 0; i < which.replicas.size(); ++i) {
    if (which.replicas[i].memory.is_of_flow()) { residency_.release(which, place::at(i)); }
  }
}

void task_planner::count(std::span<detail::datum_use const> uses, place where,
                         std::size_t copies) noexcept {
  std::size_t reads = 0;
  for (detail::datum_use const& use : uses) {
    reads += !use.what->is_token() && use.mode != access_mode::write ? 1 : 0;
  }
  use_counts& sum = uses_[where.index()];
  sum.misses += copies;
  // Data can be evicted and copied again before the task is submitted.
  sum.hits += reads - std::min(reads, copies);
}

void task_planner::count_replays(std::span<use_counts const> each, std::size_t replays) noexcept {
  for (std::size_t i = 0; i < each.size(); ++i) {
    uses_[i].hits += each[i].hits * replays;
    uses_[i].misses += each[i].misses * replays;
  }
}

flow_counters task_planner::counters(place of) const noexcept {
  copied_bytes const& copied = mover_.copied(of);
  eviction_counts const& evictions = residency_.evictions(of);
  use_counts const& uses = uses_[of.index()];
  return {.bytes_from_host = copied.from_host,
          .bytes_from_devices = copied.from_devices,
          .bytes_to_host = copied.to_host,
          .hits = uses.hits,
          .misses = uses.misses,
          .evictions = evictions.evicted,
          .write_backs = evictions.written,
          .allocated_bytes = residency_.memory(of).allocated()};
}

}  // namespace flotilla::flows
