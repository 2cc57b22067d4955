// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/placement/device_choice.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <tuple>

#include "base/access.hpp"
#include "dispatch/grid/grid_limits.hpp"

namespace flotilla::flows {

device_choice::device_choice(runtime& owner, dispatch::runtime_state& runtime,
                             data_mover const& mover)
    : runtime_(runtime), mover_(mover), links_(owner, runtime), loads_(runtime.infos().size()) {
  found_.reserve(loads_.size());
  for (device const& each : runtime.infos()) {
    auto const first =
        std::find_if(runtime.infos().begin(), runtime.infos().end(), [&](device const& other) {
          return other.name == each.name && other.multiprocessors == each.multiprocessors;
        });
    loads_[each.ordinal.value].kind = first->ordinal.value;
  }
}

double device_choice::ready_ns(replica const& which) const noexcept {
  writer const* const by = which.last_writer();
  if (by == nullptr || by->expected.device == writer::forecast::unknown ||
      runtime_.query.has_ended(by->task)) {
    return 0;
  }
  double const left = by->expected.end_ns - loads_[by->expected.device].queue.ended_ns();
  return std::max(left, 0.0);
}

double device_choice::ready_anywhere_ns(detail::datum const& which) const noexcept {
  double last = 0;
  for (replica const& each : which.replicas) {
    if (each.is_valid) { last = std::max(last, ready_ns(each)); }
  }
  return std::max(last, parts_ready_ns(which));
}

double device_choice::parts_ready_ns(detail::datum const& which) const noexcept {
  double last = 0;
  if (which.tiles != nullptr) {
    for (auto const& each : which.tiles->ended) { last = std::max(last, ready_anywhere_ns(*each)); }
  }
  if (which.reduction != nullptr) {
    for (auto const& each : which.reduction->partials) {
      if (each != nullptr) { last = std::max(last, ready_anywhere_ns(*each)); }
    }
  }
  return last;
}

void device_choice::add_input(detail::datum& which, place to, terms& sum) const noexcept {
  place from = to;
  bool const has_partials = which.reduction != nullptr && which.reduction->has_partials();
  if (has_partials || which.tiles != nullptr) {
    // Tiles that have ended are joined where they share the memory of the whole data. Partial
    // results are combined on the host.
    from = has_partials ? place::host() : which.tiles->where;
    sum.inputs_ns = std::max(sum.inputs_ns, parts_ready_ns(which));
  } else {
    if (!which.at(to).is_valid) { from = mover_.source_for(which, to); }
    sum.inputs_ns = std::max(sum.inputs_ns, ready_ns(which.at(from)));
  }
  if (from == to) { return; }
  sum.copies_ns += links_.copy_ns(from, to, which.bytes);
  sum.bytes += which.bytes;
}

float device_choice::measured_ns(launch const& what, device const& on) const noexcept {
  dispatch::kernel_table const& table = runtime_.waits.with().shared.kernels;
  return table.kernels[detail::access::kernel_index(what)].durations[on.ordinal.value].load(
      std::memory_order_relaxed);
}

float device_choice::kernel_ns(launch const& what, device const& on) const noexcept {
  float alike = 0, longest = 0;
  for (device const& each : runtime_.infos()) {
    float const ns = measured_ns(what, each);
    bool const is_alike = loads_[each.ordinal.value].kind == loads_[on.ordinal.value].kind;
    if (is_alike && ns != 0) { alike = alike == 0 ? ns : std::min(alike, ns); }
    longest = std::max(longest, ns);
  }
  return alike != 0 ? alike : longest;
}

float device_choice::occupied_ns(launch const& what, device const& on) const noexcept {
  constexpr float unknown_ns = 1000;      // the least time of a kernel
  constexpr float kernels_at_once = 128;  // of a GPU
  // A device that is slower than others of its kind gets fewer tasks.
  float const measured = measured_ns(what, on);
  float const ns = measured != 0 ? measured : kernel_ns(what, on);
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

device_choice::terms device_choice::terms_on(std::span<detail::datum_use const> uses,
                                             launch const* what, int priority,
                                             device const& on) noexcept {
  load& there = loads_[on.ordinal.value];
  terms made{.queue_ns = there.queue.ns(
                 dispatch::level_of_priority(priority),
                 [this](task_id const& task) { return runtime_.query.has_ended(task); }),
             .kernel_ns = what == nullptr ? 0 : kernel_ns(*what, on),
             .tasks = there.submitted,
             .is_avoided = runtime_.waits.with().shared.stuck.avoids(on.ordinal.value)};
  for (detail::datum_use const& use : uses) {
    if (use.what->is_token() || !needs_contents(use.mode)) { continue; }
    add_input(*use.what, place::of(on.ordinal), made);
  }
  return made;
}

device_ordinal device_choice::choose(std::span<detail::datum_use const> uses, launch const* what,
                                     int priority, placement_text& text) {
  std::span<device const> const all = runtime_.infos();
  if (all.size() == 1) {
    if (text.is_on()) { text.add(place::of(all.front().ordinal), "there is no other"); }
    return all.front().ordinal;
  }
  found_.clear();
  for (device const& each : all) { found_.push_back(terms_on(uses, what, priority, each)); }
  device_ordinal const best = all[best_of_found(what == nullptr)].ordinal;
  if (text.is_on()) { text.add(place::of(best), reason()); }
  return best;
}

std::size_t device_choice::best_of_found(bool bytes_first) const noexcept {
  std::size_t least_bytes = std::numeric_limits<std::size_t>::max();
  // A device may become stuck, or end to be so, while this function asks for it.
  bool const all_avoided =
      std::all_of(found_.begin(), found_.end(), [](terms const& each) { return each.is_avoided; });
  auto const may_run = [&](terms const& each) { return !each.is_avoided || all_avoided; };
  for (terms const& each : found_) {
    if (may_run(each)) { least_bytes = std::min(least_bytes, each.bytes); }
  }
  auto const counts = [&](terms const& each) {
    return may_run(each) && (!bytes_first || each.bytes == least_bytes);
  };
  double first_end = std::numeric_limits<double>::max();
  for (terms const& each : found_) {
    if (counts(each)) { first_end = std::min(first_end, each.end_ns()); }
  }
  // The times are estimates, so small differences mean nothing.
  constexpr double tolerance = 1.2;
  std::size_t best = found_.size();
  for (std::size_t i = 0; i < found_.size(); ++i) {
    terms const& each = found_[i];
    if (!counts(each) || each.end_ns() > tolerance * first_end) { continue; }
    auto const rank = [](terms const& of) { return std::tuple{of.bytes, of.queue_ns, of.tasks}; };
    bool const is_better = best == found_.size() || rank(each) < rank(found_[best]);
    if (is_better) { best = i; }
  }
  return best;
}

void device_choice::note(std::span<detail::datum_use const> uses,
                         submitted_task const& task) noexcept {
  if (task.where.is_host() || loads_.size() == 1) { return; }
  constexpr float callable_ns = 10'000;  // nobody measures callables
  unsigned const index = task.where.device().value;
  load& there = loads_[index];
  float const ns =
      task.what == nullptr ? callable_ns : occupied_ns(*task.what, runtime_.infos()[index]);
  there.queue.add(task.id, dispatch::level_of_priority(task.options.priority), ns,
                  [this](task_id const& each) { return runtime_.query.has_ended(each); });
  ++there.submitted;
  for (detail::datum_use const& use : uses) {
    if (use.mode == detail::access_mode::read) { continue; }
    // The task is the writer of all data that it writes.
    use.what->at(task.where).last_writer()->expected = {index, there.queue.all_ns()};
    return;
  }
}

std::string device_choice::terms::text() const {
  auto const us = [](double ns) { return std::to_string(static_cast<std::uint64_t>(ns / 1000)); };
  return "data after " + us(inputs_ns) + " us, copies of " + std::to_string(bytes) + " bytes " +
         us(copies_ns) + " us, open tasks " + us(queue_ns) + " us, kernel " +
         (kernel_ns == 0 ? "unknown" : us(kernel_ns) + " us") + ", " + std::to_string(tasks) +
         " tasks so far" + (is_avoided ? ", stuck" : "");
}

std::string device_choice::reason() const {
  std::string made;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    made += (i == 0 ? "device " : "; device ") + std::to_string(i) + ": " + found_[i].text();
  }
  return made;
}

}  // namespace flotilla::flows
