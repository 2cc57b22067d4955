// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/recorded_parts.hpp"

#include <utility>

namespace flotilla::dispatch {

std::uint32_t recorded_parts::add() {
  std::lock_guard const lock{mutex_};
  if (free_.empty()) {
    parts_.emplace_back();
    try {
      free_.reserve(parts_.capacity());
    } catch (...) {
      parts_.pop_back();
      throw;
    }
    return static_cast<std::uint32_t>(parts_.size() - 1);
  }
  std::uint32_t const index = free_.back();
  free_.pop_back();
  return index;
}

void recorded_parts::set(std::uint32_t index, std::shared_ptr<recorded_part> part) noexcept {
  std::lock_guard const lock{mutex_};
  parts_[index] = std::move(part);
}

std::shared_ptr<recorded_part> recorded_parts::get(std::uint32_t index) const {
  std::lock_guard const lock{mutex_};
  return index < parts_.size() ? parts_[index] : nullptr;
}

std::shared_ptr<recorded_part> recorded_parts::take(std::uint32_t index) noexcept {
  std::lock_guard const lock{mutex_};
  std::shared_ptr<recorded_part> taken = std::move(parts_[index]);
  free_.push_back(index);
  return taken;
}

std::vector<std::shared_ptr<recorded_part>> recorded_parts::launched_after(
    std::chrono::steady_clock::time_point when, unsigned device) const {
  std::vector<std::shared_ptr<recorded_part>> found;
  std::lock_guard const lock{mutex_};
  for (auto const& part : parts_) {
    bool const is_found = part != nullptr && part->device() == device && part->last_launch() > when;
    if (is_found) { found.push_back(part); }
  }
  return found;
}

void recorded_parts::note_loss_of(unsigned device) noexcept {
  std::lock_guard const lock{mutex_};
  for (auto const& part : parts_) {
    if (part != nullptr && part->device() == device) { part->note_loss(); }
  }
}

void recorded_parts::destroy_all_of(unsigned device) noexcept {
  std::lock_guard const lock{mutex_};
  for (auto const& part : parts_) {
    if (part != nullptr && part->device() == device) { part->destroy(); }
  }
}

}  // namespace flotilla::dispatch
