// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/flow/rank_flow.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include <flotilla/error/error.hpp>

namespace flotilla::flows {

namespace {
// Other ranks take part in each task, so a rank cannot replay tasks without them.
constexpr char const* is_over_ranks = "its flow runs over several ranks";
}  // namespace

template <class Step>
void rank_flow::until_done(std::string_view label, Step const& step) {
  obstacle_resolver resolver{with_.owner, with_.state, with_.mutex, with_.planner, {label}};
  while (true) {
    obstacle why;
    {
      std::lock_guard const lock{with_.mutex};
      why = step();
    }
    if (!why) { return; }
    resolver.resolve(why);
  }
}

void rank_flow::add(detail::datum& made) {
  std::lock_guard const lock{with_.mutex};
  exchange_.add(made, 0);
}

void rank_flow::add_tiles(detail::datum& whole, tile_list const& tiles) {
  int const owner = whole.ranks->owner();
  for (auto const& each : tiles) { exchange_.add(*each, owner); }
  whole.ranks->change(owner);  // copies on other ranks will be out of date
}

bool rank_flow::passes(std::span<detail::datum_use const> uses, task_options const& options) {
  with_.state.usage.check_usable();
  exchange_.cluster().check_open();
  int const where = exchange_.rank_of(uses, options);
  pass(uses, where, options);
  return where != rank();
}

void rank_flow::pass(std::span<detail::datum_use const> uses, int rank,
                     task_options const& options) {
  bool is_checked = false, is_brought = false;
  std::size_t done = 0;
  auto const submit_copies = [&]() -> obstacle {
    if (!is_checked) {
      with_.checks.check(uses, {options.label});
      with_.planner.log().refuse(is_over_ranks);
      is_checked = true;
    }
    if (!is_brought) {
      if (obstacle const why = exchange_.bring(uses, rank, options)) { return why; }
      is_brought = true;
    }
    return rank == this->rank() ? obstacle{} : exchange_.take_home(uses, rank, options, done);
  };
  try {
    until_done(options.label, submit_copies);
  } catch (...) {
    if (!is_checked) { throw; }  // what is wrong with the uses is wrong on all ranks
    or_fail(this, [] { throw; });
  }
}

void rank_flow::take_home(std::span<detail::datum_use const> uses, task_options const& options) {
  auto const changes = [](detail::datum_use const& use) {
    return use.mode != detail::access_mode::read;
  };
  if (std::none_of(uses.begin(), uses.end(), changes)) { return; }
  std::size_t done = 0;
  until_done(options.label, [&] { return exchange_.take_home(uses, rank(), options, done); });
}

void rank_flow::set_owner(rank_flow* of, detail::datum& which, int rank) {
  if (of != nullptr) { return of->move(which, rank); }
  if (rank == 0) { return; }
  throw invalid_argument(which.text() + ": the flow has no cluster, so rank " +
                         std::to_string(rank) + " cannot own them");
}

void rank_flow::move(detail::datum& which, int rank) {
  exchange_.cluster().check_open();
  int const ranks = exchange_.cluster().ranks();
  if (rank < 0 || rank >= ranks) {
    throw invalid_argument(which.text() + ": rank " + std::to_string(rank) +
                           " cannot own them, because the cluster has the ranks 0 to " +
                           std::to_string(ranks - 1));
  }
  check_undivided(which);
  or_fail(this, [&] { until_done(which.label, [&] { return exchange_.move(which, rank); }); });
}

void rank_flow::check_undivided(detail::datum const& which) const {
  std::lock_guard const lock{with_.mutex};
  use_check::check_undivided(which);
}

void rank_flow::collect(detail::datum& whole) {
  exchange_.cluster().check_open();
  check_undivided(whole);
  or_fail(this, [&] {
    until_done(whole.label, [&]() -> obstacle {
      if (whole.tiles != nullptr) {
        if (obstacle const why = exchange_.collect(whole, {})) { return why; }
      }
      exchange_.drop_copies(whole);
      return {};
    });
  });
}

void rank_flow::check_host(detail::datum const& which, bool for_update) const {
  exchange_.cluster().check();
  if (for_update && exchange_.cluster().ranks() > 1) {
    throw invalid_argument(
        which.text() +
        ": a program must not change data without a task, because other ranks "
        "would not learn of it; use a host_task with `write` or `update` instead");
  }
  int const owner = which.ranks->owner();
  if (owner != rank()) {
    throw invalid_argument(which.text() + " belong to rank " + std::to_string(owner) +
                           ", and this is rank " + std::to_string(rank()) +
                           "; look at them and prefetch them only there, or call set_owner() on "
                           "all ranks before");
  }
  if (which.tiles == nullptr) { return; }
  for (auto const& tile : which.tiles->ended) {
    if (tile->has_value() && tile->ranks->owner() != owner) {
      throw invalid_argument(which.text() +
                             " were divided into tiles of several ranks; call "
                             "collect() on all ranks first");
    }
  }
}

}  // namespace flotilla::flows
