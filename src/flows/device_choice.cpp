// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/device_choice.hpp"

#include <algorithm>
#include <atomic>

#include "base/access.hpp"
#include "dispatch/grid/grid_limits.hpp"

namespace flotilla::flows {

std::size_t device_choice::bytes_to_copy(std::span<detail::datum_use const> uses,
                                         place to) noexcept {
  std::size_t sum = 0;
  for (detail::datum_use const& use : uses) {
    bool const reads = !use.what->is_token() && needs_contents(use.mode);
    // Tiles that have ended are joined where they share the memory of the whole data.
    // Partial results are combined on the host.
    bool const is_there =
        use.what->reduction == nullptr &&
        (use.what->tiles != nullptr ? use.what->tiles->where == to : use.what->at(to).is_valid);
    if (reads && !is_there) { sum += use.what->bytes; }
  }
  return sum;
}

float device_choice::estimated_ns(launch const& what, device const& on) const noexcept {
  constexpr float unknown_ns = 1000;      // the least time of a kernel
  constexpr float kernels_at_once = 128;  // of a GPU
  dispatch::kernel_table const& table = runtime_.waits.with().shared.kernels;
  float const ns =
      table.kernels[detail::access::kernel_index(what)].durations[on.ordinal.value].load(
          std::memory_order_relaxed);
  if (ns == 0) { return unknown_ns; }
  extent const block = what.block();
  extent const grid = what.grid();
  dispatch::grid_limits const limits{static_cast<std::uint64_t>(on.multiprocessors)};
  auto const at_once =
      static_cast<float>(limits.capacity(std::uint64_t{block.x} * block.y * block.z));
  float const blocks =
      static_cast<float>(grid.x) * static_cast<float>(grid.y) * static_cast<float>(grid.z);
  return ns * std::clamp(blocks / at_once, 1 / kernels_at_once, 1.0F);
}

void device_choice::note(place where, task_id const& task, launch const* what) noexcept {
  if (where.is_host() || loads_.size() == 1) { return; }
  constexpr float callable_ns = 10'000;  // nobody measures callables
  std::size_t const index = where.device().value;
  loads_[index].queue.add(
      task, what == nullptr ? callable_ns : estimated_ns(*what, runtime_.infos()[index]),
      [this](task_id const& each) { return runtime_.query.has_ended(each); });
  ++loads_[index].submitted;
}

device_choice::cost device_choice::cost_on(std::span<detail::datum_use const> uses,
                                           device_ordinal on) noexcept {
  load& there = loads_[on.value];
  return {bytes_to_copy(uses, place::of(on)),
          there.queue.ns([this](task_id const& task) { return runtime_.query.has_ended(task); }),
          there.submitted};
}

device_ordinal device_choice::choose(std::span<detail::datum_use const> uses,
                                     placement_text& text) {
  std::span<device const> const all = runtime_.infos();
  device_ordinal best = all.front().ordinal;
  if (all.size() > 1) {
    cost lowest = cost_on(uses, best);
    for (device const& each : all.subspan(1)) {
      cost const here = cost_on(uses, each.ordinal);
      if (here < lowest) {
        lowest = here;
        best = each.ordinal;
      }
    }
  }
  if (text.is_on()) { text.add(place::of(best), reason(uses)); }
  return best;
}

std::string device_choice::reason(std::span<detail::datum_use const> uses) {
  if (loads_.size() == 1) { return "there is no other"; }
  std::string made;
  for (device const& each : runtime_.infos()) {
    cost const here = cost_on(uses, each.ordinal);
    made += (made.empty() ? "device " : "; device ") + std::to_string(each.ordinal.value) +
            " needs copies of " + std::to_string(here.bytes) + " bytes, has " +
            std::to_string(static_cast<std::uint64_t>(here.queue_ns / 1000)) +
            " us of open tasks, and got " + std::to_string(here.tasks) + " tasks";
  }
  return made;
}

}  // namespace flotilla::flows
