// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/flow/flow_state.hpp"

#include <algorithm>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "flows/placement/access_list.hpp"

namespace flotilla::flows {

using detail::access_mode;

flow_state::flow_state(runtime& owner, flow_options const& options,
                       std::shared_ptr<cluster_ranks::cluster_state> cluster)
    : owner_(owner),
      runtime_(dispatch::runtime_state::of(detail::access::impl(owner))),
      number_(runtime_.number),
      checks_(*this, runtime_),
      host_(runtime_),
      planner_(runtime_, options),
      devices_(owner, runtime_, planner_.mover()),
      ranks_(cluster == nullptr ? nullptr
                                : std::make_unique<rank_flow>(
                                      rank_flow::parts{owner, runtime_, mutex_, planner_, checks_},
                                      std::move(cluster))),
      explains_(options.explain ? *options.explain : explanations::from_environment()) {
  if (options.memory_limit == 0) { throw invalid_argument("flow_options::memory_limit is 0"); }
  double const low = options.low_watermark, high = options.high_watermark;
  if (!(0 < low && low <= high && high <= 1)) {
    throw invalid_argument("flow_options: low_watermark is " + std::to_string(low) +
                           " and high_watermark is " + std::to_string(high) +
                           ", but 0 < low_watermark <= high_watermark <= 1 must hold");
  }
  runtime_.usage.check_usable();
}

std::unique_ptr<detail::datum> flow_state::make(std::size_t each,
                                                std::span<std::size_t const> extents,
                                                std::optional<std::size_t> objects,
                                                std::string_view label) {
  std::string const name = label.empty() ? "the data" : "data '" + std::string{label} + "'";
  std::size_t bytes = each;
  std::size_t count = 1;
  std::string text;
  for (std::size_t const extent : extents) {
    if (extent == 0) { throw invalid_argument(name + ": an extent is 0, but must be at least 1"); }
    bytes = detail::bytes_of(bytes, extent);
    count = detail::bytes_of(count, extent);
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  }
  if (bytes == PTRDIFF_MAX) {
    throw invalid_argument(name + ": " + text + " objects are too many");
  }
  if (objects && *objects != count) {
    throw invalid_argument(name + ": the extents are " + text + ", but the memory has " +
                           std::to_string(*objects) + " objects");
  }
  datum_shape const shape{.object_bytes = each,
                          .extents = triple_of(extents),
                          .rank = static_cast<int>(extents.size())};
  return std::make_unique<detail::datum>(shared_from_this(), std::string{label}, shape,
                                         runtime_.infos().size() + 1);
}

void flow_state::adopt(detail::datum& by, place where, block&& memory, bool is_owner) noexcept {
  replica& here = by.at(where);
  here.memory = std::move(memory);
  here.is_valid = is_owner;
  by.has_contents = true;
}

detail::datum* flow_state::make_datum(detail::host_block const& host, std::string_view label) {
  auto made = make(host.each, host.extents, host.count, label);
  if (host.count) {
    adopt(*made, place::host(),
          {.address = reinterpret_cast<std::uintptr_t>(host.memory), .kind = host.kind},
          rank_flow::owns_new(ranks_.get()));
    made->is_written_back = ranks_ == nullptr;
  }
  if (ranks_ != nullptr) { ranks_->add(*made); }
  return made.release();
}

detail::datum* flow_state::make_datum(detail::device_range const& range, std::size_t each,
                                      std::span<std::size_t const> extents,
                                      std::string_view label) {
  if (range.owner() != static_cast<detail::runtime_impl*>(&runtime_)) {
    throw wrong_runtime("the buffer of data '" + std::string{label} +
                        "' is empty or belongs to another runtime than the flow");
  }
  auto made = make(each, extents, range.bytes() / each, label);
  adopt(*made, place::of(range.device()),
        {.address = range.address(), .reach = detail::kernel_reach::peers},
        rank_flow::owns_new(ranks_.get()));
  if (ranks_ != nullptr) { ranks_->add(*made); }
  return made.release();
}

detail::datum* flow_state::make_token(std::string_view label) {
  auto made =
      std::make_unique<detail::datum>(shared_from_this(), std::string{label}, datum_shape{}, 1);
  if (ranks_ != nullptr) { ranks_->add(*made); }
  return made.release();
}

tile_list flow_state::divide(detail::datum& whole, triple const& tile,
                             std::span<int const> owners) {
  runtime_.usage.check_usable();
  if (std::find(tile.begin(), tile.end(), 0u) != tile.end()) {
    throw invalid_argument(whole.text() + ": an extent of the tiles is 0, but must be at least 1");
  }
  if (ranks_ != nullptr) { ranks_->collect(whole); }
  obstacle_resolver resolver = make_resolver({whole.label});
  while (true) {
    tile_list made;  // destroyed after the mutex is unlocked
    obstacle why;
    {
      std::lock_guard const lock{mutex_};
      use_check::check_undivided(whole);
      planner_.log().note_change("it divides data into tiles");
      why = planner_.settle(whole, 0);
      if (!why) { why = planner_.tiles().divide(whole, tile, made); }
      if (!why && ranks_ != nullptr) { ranks_->add_tiles(whole, made); }
    }
    if (!why) {
      for (std::size_t i = 0; i < owners.size(); ++i) {
        rank_flow::set_owner(ranks_.get(), *made[i], owners[i]);
      }
      return made;
    }
    resolver.resolve(why);
  }
}

std::optional<place> flow_state::ask_placement(std::span<detail::datum_use const> uses,
                                               task_options const& options, launch const* what) {
  if (!runtime_.tasks.has_placement()) { return std::nullopt; }
  std::unique_lock lock{mutex_};
  checks_.check(uses, {options.label, what});
  access_list const accesses{uses};
  lock.unlock();  // the placement is code of the application
  auto const chosen = runtime_.tasks.place_freely(options, accesses.all());
  return chosen ? std::optional{place::of(*chosen)} : std::nullopt;
}

detail::placed_data flow_state::wait_for_host(detail::datum& which, bool for_update,
                                              std::uint64_t* own) {
  runtime_.usage.check_process();
  obstacle_resolver resolver = make_resolver({});
  std::size_t copies = 0;
  while (true) {
    obstacle why;
    std::optional<task_id> open;
    {
      std::lock_guard const lock{mutex_};
      if (ranks_ != nullptr) { ranks_->check_host(which, for_update); }
      std::uint64_t const before = planner_.log().changes();
      bool const is_whole = which.tiles == nullptr &&
                            (which.reduction == nullptr || !which.reduction->has_partials());
      planner_.log().note_change("it calls host()");
      // An update may give the data their first contents.
      bool const reads = which.has_value() || !for_update;
      checks_.check(which, reads ? access_mode::read : access_mode::write);
      detail::datum_use const use{&which, reads ? access_mode::read : access_mode::write, nullptr};
      why = planner_.prepare({&use, 1}, place::host(), 0, copies);
      if (own != nullptr && is_whole) { *own += planner_.log().changes() - before; }
      if (!why) {
        open = host_.open_task(which, for_update);
        if (!open) {
          host_.note_wait(which, for_update);
          if (reads) { host_.check_not_lost(which); }
          if (for_update) { planner_.order().commit_host_update(which); }
          return {reinterpret_cast<void*>(which.at(place::host()).memory.address),
                  which.pitch_at(place::host())};
        }
      }
    }
    resolver.resolve(why);
    if (open) { host_.wait_for(*open); }
  }
}

void flow_state::prefetch(detail::datum& which, place to) {
  runtime_.usage.check_usable();
  obstacle_resolver resolver = make_resolver({which.label});
  std::size_t copies = 0;
  while (true) {
    obstacle why;
    {
      std::lock_guard const lock{mutex_};
      if (ranks_ != nullptr) { ranks_->check_host(which, false); }
      checks_.check(which, access_mode::read);
      detail::datum_use const use{&which, access_mode::read, nullptr};
      why = planner_.prepare({&use, 1}, to, 0, copies);
      if (!why) { return planner_.count({&use, 1}, to, copies); }
    }
    resolver.resolve(why);
  }
}

bool flow_state::is_valid_at(detail::datum& which, place where) {
  runtime_.usage.check_process();
  std::lock_guard const lock{mutex_};
  return which.is_valid_at(where);
}

std::string flow_state::dot() {
  runtime_.usage.check_process();
  std::lock_guard const lock{mutex_};
  graph_log const& log = planner_.log().graph();
  if (!log.is_on()) {
    throw invalid_argument("the flow was made without flow_options::keeps_graph");
  }
  return log.dot();
}

flow_counters flow_state::counters(place of) {
  runtime_.usage.check_process();
  std::lock_guard const lock{mutex_};
  return planner_.counters(of);
}

}  // namespace flotilla::flows
