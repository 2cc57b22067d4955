// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/recorded_grid.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "dispatch/recording/node_plan.hpp"

namespace flotilla::dispatch {

namespace {

std::array<std::uint32_t, 3> array_of(extent const& of) noexcept { return {of.x, of.y, of.z}; }

std::uint64_t count(std::array<std::uint32_t, 3> const& grid) noexcept {
  return std::uint64_t{grid[0]} * grid[1] * grid[2];
}

}  // namespace

recorded_grid::recorded_grid(config const& with)
    : memory_(&with.memory),
      page_(&with.page),
      form_(with.what),
      tasks_(with.tasks),
      argument_bytes_(with.argument_bytes),
      stride_(detail::twin_record_stride(with.argument_bytes)),
      changes_(std::uint64_t{with.tasks} + 1) {}

std::size_t recorded_grid::bytes_for(std::uint32_t tasks, std::uint32_t argument_bytes,
                                     std::uint64_t table_blocks) noexcept {
  return std::size_t{tasks} * detail::twin_record_stride(argument_bytes) +
         table_blocks * sizeof(std::uint32_t);
}

void recorded_grid::begin(registered_slabs::piece const& first) {
  copies_.push_back({.memory = first, .seen = changes_, .owned = false});
  open_ = true;
}

void recorded_grid::open(launch_mark last, bool is_first_read) {
  if (is_first_read && newest_ == 0) {
    constexpr auto never = std::numeric_limits<std::uint64_t>::max();
    choose({last.lane, never});
  } else if (!has_ended(last)) {
    // Even if the last launch reads the device copy, an earlier one may still read the first copy.
    choose(last);
  }
  device_copy_ = 0;
  open_ = was_changed_ = true;
}

bool recorded_grid::use_device_copy(CUdeviceptr distance) noexcept {
  if (was_changed_) { return false; }
  device_copy_ = copies_[newest_].memory.device + distance;
  return true;
}

void recorded_grid::choose(launch_mark last) {
  if (changed_.empty()) { changed_.resize(tasks_); }
  copies_[newest_].last = last;
  std::size_t const bytes = bytes_for(tasks_, argument_bytes_, table_blocks());
  auto const find = [&](std::size_t min_bytes) {
    return std::find_if(copies_.begin(), copies_.end(), [&](copy const& each) {
      return has_ended(each.last) && each.memory.bytes >= min_bytes;
    });
  };
  auto found = find(bytes);
  if (found == copies_.end()) { found = find(0); }
  if (found == copies_.end()) { found = copies_.insert(found, copy{}); }
  if (found->memory.bytes < bytes) {
    replace_memory(*found, memory_->take(bytes));
    found->seen = 0;  // so few that the whole copy is made
  }
  catch_up(*found);
  newest_ = static_cast<std::size_t>(found - copies_.begin());
}

void recorded_grid::replace_memory(copy& of, registered_slabs::piece const& larger) noexcept {
  if (of.owned) { memory_->give_back(of.memory); }
  of.memory = larger;
  of.owned = true;
}

void recorded_grid::catch_up(copy& target) noexcept {
  copy const& source = copies_[newest_];
  if (changes_ - target.seen > tasks_) {
    std::memcpy(target.memory.host, source.memory.host,
                bytes_for(tasks_, argument_bytes_, table_blocks()));
  } else {
    for (std::uint64_t n = target.seen; n != changes_; ++n) {
      std::uint32_t const i = changed_[n % tasks_];
      std::memcpy(record(target, i), record(source, i), stride_);
    }
  }
  target.seen = changes_;
}

void recorded_grid::put(std::uint32_t i, change_list::change const& launch,
                        std::byte const* arguments) {
  copy& newest = copies_[newest_];
  std::byte* const to = record(newest, i);
  detail::twin_record head = head_of(newest, i);
  std::array<std::uint32_t, 3> const grid = array_of(launch.grid);
  moved_ = moved_ || count(grid) != count(head.grid);
  head.grid = grid;
  std::memcpy(to, &head, sizeof head);
  // A kernel without parameters has no arguments to copy, and memcpy refuses a null pointer.
  if (std::size_t const bytes = std::min(launch.bytes, argument_bytes_); bytes != 0) {
    std::memcpy(to + sizeof head, arguments, bytes);
  }
  if (!changed_.empty()) { changed_[changes_ % tasks_] = i; }
  newest.seen = ++changes_;
}

bool recorded_grid::close() {
  if (!moved_) { return true; }
  std::uint64_t blocks = 0;
  std::uint64_t each = count(head_of(copies_[newest_], 0).grid);
  for (std::uint32_t i = 0; i < tasks_; ++i) {
    std::uint64_t const own = count(head_of(copies_[newest_], i).grid);
    blocks += own;
    if (own != each) { each = 0; }
  }
  if (blocks > node_plan::max_blocks) { return false; }
  std::size_t const bytes = bytes_for(tasks_, argument_bytes_, each == 0 ? blocks : 0);
  if (copies_[newest_].memory.bytes < bytes) { enlarge_newest(bytes); }
  blocks_ = blocks;
  each_ = static_cast<std::uint32_t>(each);
  place_blocks();
  changes_ += std::uint64_t{tasks_} + 1;  // so many that all other copies are copied as a whole
  copies_[newest_].seen = changes_;
  moved_ = false;
  return true;
}

void recorded_grid::enlarge_newest(std::size_t bytes) {
  copy& newest = copies_[newest_];
  registered_slabs::piece const larger = memory_->take(bytes);
  std::memcpy(larger.host, newest.memory.host, bytes_for(tasks_, argument_bytes_, 0));
  replace_memory(newest, larger);
}

void recorded_grid::place_blocks() noexcept {
  copy const& newest = copies_[newest_];
  std::byte* table = newest.memory.host + bytes_for(tasks_, argument_bytes_, 0);
  std::uint32_t first = 0;
  for (std::uint32_t i = 0; i < tasks_; ++i) {
    detail::twin_record head = head_of(newest, i);
    head.first_block = first;
    std::memcpy(record(newest, i), &head, sizeof head);
    auto const own = static_cast<std::uint32_t>(count(head.grid));
    first += own;
    for (std::uint32_t k = 0; each_ == 0 && k < own; ++k, table += sizeof i) {
      std::memcpy(table, &i, sizeof i);
    }
  }
}

recorded_grid::contents recorded_grid::wanted() const noexcept {
  CUdeviceptr const at = device_copy_ != 0 ? device_copy_ : copies_[newest_].memory.device;
  return {{at, at + bytes_for(tasks_, argument_bytes_, 0), stride_, each_},
          static_cast<std::uint32_t>(blocks_)};
}

bool recorded_grid::must_rewrite() const noexcept {
  contents const next = wanted();
  return next.parameters.records != held_.parameters.records || next.blocks != held_.blocks ||
         next.parameters.blocks_each != held_.parameters.blocks_each;
}

void recorded_grid::copy_to(change_list& into, std::uint32_t task, std::uint32_t i) const {
  copy const& newest = copies_[newest_];
  auto const& [x, y, z] = head_of(newest, i).grid;
  into.put({.task = task,
            .kernel = form_.kernel,
            .shared_bytes = form_.shared_bytes,
            .grid = {x, y, z},
            .block = form_.block,
            .bytes = argument_bytes_},
           record(newest, i) + sizeof(detail::twin_record));
}

void recorded_grid::give_back() noexcept {
  for (copy& each : copies_) {
    if (each.owned) { memory_->give_back(std::exchange(each.memory, {})); }
  }
}

}  // namespace flotilla::dispatch
