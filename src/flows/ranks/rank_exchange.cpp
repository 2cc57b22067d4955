// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/ranks/rank_exchange.hpp"

#include <string>
#include <utility>
#include <vector>

#include <flotilla/error/error.hpp>

namespace flotilla::flows {

using detail::access_mode;
using detail::datum;
using detail::datum_use;

namespace {

[[nodiscard]] cluster_ranks::host_box box_of(datum& memory) {
  if (memory.is_token()) { return {}; }
  place const host = place::host();
  return {.rows = {.first = reinterpret_cast<std::byte*>(memory.at(host).memory.address),
                   .width = memory.shape.row_bytes(),
                   .height = memory.shape.extents[1],
                   .pitch = memory.pitch_at(host)},
          .bytes = memory.bytes,
          .object_bytes = memory.shape.object_bytes};
}

[[nodiscard]] constexpr bool changes(access_mode mode) noexcept {
  return mode != access_mode::read;
}

}  // namespace

int rank_exchange::rank_of(std::span<datum_use const> uses, task_options const& options) const {
  if (options.rank != task_options::any_rank) {
    if (options.rank >= 0 && options.rank < cluster_->ranks()) { return options.rank; }
    throw invalid_argument("task_options::rank is " + std::to_string(options.rank) +
                           ", but the cluster has the ranks 0 to " +
                           std::to_string(cluster_->ranks() - 1));
  }
  datum const* best = nullptr;
  int best_rule = 3;
  for (datum_use const& use : uses) {
    if (use.what == nullptr || use.what->ranks == nullptr) { continue; }
    int const rule = use.mode == access_mode::read ? 1 : use.mode == access_mode::reduce ? 2 : 0;
    if (rule < best_rule) {
      best = use.what;
      best_rule = rule;
    }
  }
  return best == nullptr ? 0 : best->ranks->owner();
}

obstacle rank_exchange::submit(datum& which, datum_use const& use, bool sends, int peer,
                               task_options const& options) {
  place const host = place::host();
  std::vector<datum_use> actual{use};
  if (use.mode == access_mode::reduce) {
    if (obstacle const why = planner_.replace_reductions(actual, host, options.priority)) {
      return why;
    }
  }
  std::size_t copies = 0;
  if (obstacle const why = planner_.prepare(actual, host, options.priority, copies)) {
    return why.about(which);
  }
  dispatch::flow_task_options how;
  how.label = which.label;
  how.priority = options.priority;
  planner_.order().plan(actual, host, how);
  std::uint64_t& next = number(sends, peer);
  cluster_ranks::transfer::identity const who{.flow = flow_,
                                              .peer = peer,
                                              .number = next,
                                              .datum = which.ranks->datum(),
                                              .version = which.ranks->version()};
  ticket made;  // without a ticket, the runtime would report the failure of the transfer
  bool const is_open = cluster_->submit(sends, who, box_of(*actual.front().what), use.how,
                                        which.label, options.label, how, &made);
  if (!is_open) { return {.kind = obstacle::kinds::window_full, .where = host}; }
  ++next;
  planner_.commit({&use, 1}, actual, {how.opened, host, nullptr, how});
  return {};
}

obstacle rank_exchange::copy(datum& which, int from, int to, detail::reduction const* how,
                             task_options const& options) {
  if (from == rank()) {
    return submit(which, {&which, access_mode::read, nullptr}, true, to, options);
  }
  if (to == rank()) {
    access_mode const mode = how == nullptr ? access_mode::write : access_mode::reduce;
    return submit(which, {&which, mode, how}, false, from, options);
  }
  return {};
}

obstacle rank_exchange::bring(std::span<datum_use const> uses, int to,
                              task_options const& options) {
  for (datum_use const& use : uses) {
    datum& which = *use.what;
    if (which.tiles != nullptr) {
      if (obstacle const why = collect(which, options)) { return why; }
    }
    if (use.mode == access_mode::reduce && to == rank() && which.ranks->owner() != to) {
      planner_.discard_reduction(which);  // of a task that was refused
    }
    if (!needs_contents(use.mode) || which.ranks->has(to)) { continue; }
    int const from = which.ranks->source_for_next();
    if (obstacle const why = copy(which, from, to, nullptr, options)) { return why; }
    which.ranks->add(to);
  }
  return {};
}

void rank_exchange::invalidate(datum& which) noexcept {
  planner_.log().note_change("another rank changes data");
  for (replica& each : which.replicas) { each.is_valid = false; }
}

void rank_exchange::drop_copies(datum& which) noexcept {
  which.ranks->drop();
  if (rank() == which.ranks->owner()) { return; }
  invalidate(which);
  planner_.release_memory(which);
}

obstacle rank_exchange::contribute(datum& which, task_options const& options) {
  for (auto const& partial : which.reduction->partials) {
    if (partial == nullptr) { continue; }
    if (obstacle const why = submit(which, {partial.get(), access_mode::read, nullptr}, true,
                                    which.ranks->owner(), options)) {
      return why;
    }
  }
  planner_.discard_reduction(which);
  return {};
}

obstacle rank_exchange::take_home(std::span<datum_use const> uses, int by,
                                  task_options const& options, std::size_t& done) {
  for (; done < uses.size(); ++done) {
    datum& which = *uses[done].what;
    if (!changes(uses[done].mode)) { continue; }
    int const owner = which.ranks->owner();
    bool const reduces = uses[done].mode == access_mode::reduce;
    if (by != owner) {
      obstacle const why = reduces && by == rank()
                               ? contribute(which, options)
                               : copy(which, by, owner, uses[done].how, options);
      if (why) { return why; }
    }
    // The result of a reduction is on the owner only.
    which.ranks->change(reduces ? owner : by);
    bool const is_here = rank() == owner || (rank() == by && !reduces);
    if (is_here) { continue; }
    invalidate(which);
    which.has_contents = true;  // on another rank
  }
  return {};
}

obstacle rank_exchange::move(datum& which, int to) {
  if (which.tiles != nullptr) {
    if (obstacle const why = collect(which, {})) { return why; }
  }
  if (which.has_value() && !which.ranks->has(to)) {
    int const from = which.ranks->source_for_next();
    if (obstacle const why = copy(which, from, to, nullptr, {})) { return why; }
    which.ranks->add(to);
  }
  which.ranks->set_owner(to);
  return {};
}

obstacle rank_exchange::collect(datum& whole, task_options const& options) {
  int const owner = whole.ranks->owner();
  for (auto const& tile : whole.tiles->ended) {
    if (tile->tiles != nullptr) {
      if (obstacle const why = collect(*tile, options)) { return why; }
    }
    if (!tile->has_value() || tile->ranks->owner() == owner) { continue; }
    if (obstacle const why = move(*tile, owner)) { return why; }
  }
  if (rank() == owner) { return {}; }  // the next use joins them
  // On other ranks the tiles have nothing that the whole data need.
  bool const has_contents = whole.has_contents;
  for (auto const& tile : whole.tiles->ended) {
    invalidate(*tile);
    tile->has_contents = false;
  }
  obstacle const why = planner_.tiles().join(whole, options.priority);
  if (!why) {
    invalidate(whole);
    whole.has_contents = has_contents;
  }
  return why;
}

}  // namespace flotilla::flows
