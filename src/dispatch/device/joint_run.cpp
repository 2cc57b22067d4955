// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/joint_run.hpp"

#include <algorithm>
#include <bit>

namespace flotilla::dispatch {

bool joint_run::contains(place_elsewhere const& ahead) const noexcept {
  auto const found = std::ranges::find_if(
      parts_, [&](part const& each) { return each.flusher->device() == ahead.device; });
  if (found == parts_.end() || found->lane != ahead.place.lane) { return false; }
  std::span<batch_place const> const batches = found->flusher->part().run().batches();
  return ahead.place.wave >= batches.front().wave && ahead.place.wave <= batches.back().wave;
}

bool joint_run::is_lane_of_part(end_mark mark) const noexcept {
  return std::ranges::any_of(parts_, [mark](part const& each) {
    return each.flusher->device() == mark.device() && each.lane == mark.lane();
  });
}

void joint_run::add_wave(unsigned wave, part& to) {
  std::uint64_t open = to.flusher->waves().lanes(wave);
  if (!to.is_empty()) { open &= open_waves::bit_of(to.lane); }
  if (to.has_ended || open == 0) { return; }
  joint_part& own = to.flusher->part();
  grid_order::others const elsewhere{orders_, orders_before_};
  for (; open != 0; open &= open - 1) {
    auto const lane = static_cast<unsigned>(std::countr_zero(open));
    bool const is_usable = follows_ ? own.last().last.lane() == lane : own.may_run_in(lane);
    bool const added =
        is_usable && own.run().try_add(
                         {wave, lane}, first_wave_, elsewhere,
                         [this](place_elsewhere const& ahead) { return contains(ahead); },
                         [this](end_mark mark) { return is_lane_of_part(mark); });
    if (added) {
      to.lane = lane;
      return;
    }
  }
  to.has_ended = true;
}

bool joint_run::reach_each_other() const {
  return std::ranges::all_of(parts_, [this](part const& one) {
    return std::ranges::all_of(parts_, [&](part const& other) {
      unsigned const from = one.flusher->device();
      unsigned const to = other.flusher->device();
      return from == to || peers_.reaches(from, to);
    });
  });
}

bool joint_run::follow_last_run() {
  std::ranges::fill(orders_before_, nullptr);
  std::uint64_t const id = parts_.front().flusher->part().last().id;
  bool const all = std::ranges::all_of(parts_, [id](part const& each) {
    joint_part const& own = each.flusher->part();
    return own.last().id == id && own.is_last_in_lane();
  });
  if (!all) { return false; }
  for (part const& each : parts_) {
    unsigned const device = each.flusher->device();
    grids_before_[device] = each.flusher->part().last().grid;
    orders_before_[device] = grids_before_[device].order;
  }
  return true;
}

void joint_run::find_marks() {
  marks_.clear();
  for (part const& each : parts_) {
    marks_of_part_.clear();
    each.flusher->add_marks_before_run(first_wave_, marks_of_part_);
    for (end_mark const mark : marks_of_part_) {
      if (!is_lane_of_part(mark)) { unended_predecessors::add_mark(marks_, mark); }
    }
    end_mark const end = each.flusher->part().end_before(each.lane, follows_);
    if (end.valid()) { unended_predecessors::add_mark(marks_, end); }
  }
}

bool joint_run::find(unsigned wave, std::span<wave_flusher* const> members) {
  parts_.clear();
  std::ranges::fill(orders_, nullptr);
  first_wave_ = wave;
  for (wave_flusher* const each : members) {
    grid_run& run = each->part().run();
    run.clear();
    grids_[each->device()] = {};
    if (!each->may_wait() || !each->part().may_order()) { continue; }
    parts_.push_back({each, lane_layout::no_lane, false});
    orders_[each->device()] = &run.order();
  }
  if (parts_.size() < 2 || !reach_each_other()) { return false; }
  follows_ = follow_last_run();
  for (; wave < open_waves::max_waves; ++wave) {
    for (part& each : parts_) { add_wave(wave, each); }
  }
  std::erase_if(parts_, [](part const& each) { return each.is_empty(); });
  return std::ranges::any_of(parts_, [](part const& each) {
    return each.flusher->part().run().order().waits_elsewhere();
  });
}

bool joint_run::begin(make_current const& current) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    unsigned const device = parts_[i].flusher->device();
    grids_[device] = current(device) ? parts_[i].flusher->part().begin() : ordered_part{};
    if (grids_[device].words != nullptr) { continue; }
    while (i-- > 0) { parts_[i].flusher->part().give_up(); }
    return false;
  }
  return true;
}

template <class Action>
std::size_t joint_run::do_parts(make_current const& current, Action const& action) {
  std::size_t done = 0;
  for (; done < parts_.size(); ++done) {
    wave_flusher& each = *parts_[done].flusher;
    if (!current(each.device())) {
      each.abandon_joint();
      break;
    }
    if (!action(each)) { break; }
  }
  for (std::size_t i = done + 1; i < parts_.size(); ++i) { parts_[i].flusher->abandon_joint(); }
  return done;
}

joint_run::outcome joint_run::launch(unsigned wave, std::span<wave_flusher* const> members,
                                     make_current const& current) {
  if (!find(wave, members) || !begin(current)) { return outcome::none; }
  find_marks();
  ordered_parts const others{grids_, grids_before_};
  // First everything that may take long. While the first grids wait for the decision, only launches
  // are left.
  std::size_t const prepared =
      do_parts(current, [&](wave_flusher& each) { return each.prepare_joint(others, marks_); });
  if (prepared != parts_.size()) {
    for (std::size_t i = 0; i < prepared; ++i) { parts_[i].flusher->abandon_joint(); }
    return outcome::refused;
  }
  std::size_t const started =
      do_parts(current, [](wave_flusher& each) { return each.start_joint(); });
  bool const all = started == parts_.size();
  std::uint64_t const id = ++number_ << 8 | host_;
  for (std::size_t i = 0; i < started; ++i) { parts_[i].flusher->commit_joint(id, all); }
  return all ? outcome::launched : outcome::refused;
}

}  // namespace flotilla::dispatch
