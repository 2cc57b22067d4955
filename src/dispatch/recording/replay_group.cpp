// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/replay_group.hpp"

#include <atomic>
#include <utility>

namespace flotilla::dispatch {

void replay_group::give_up(std::uint32_t part, std::uint64_t replay,
                           std::shared_ptr<failure const> why) noexcept {
  {
    std::lock_guard const lock{mutex_};
    if (given_up_ < replay) {
      given_up_ = replay;
      why_ = std::move(why);
    }
  }
  progress_words::raise(row_.word(part), base(replay + 1) - 1);
}

std::shared_ptr<failure const> replay_group::failure_of(std::uint64_t replay) const noexcept {
  std::lock_guard const lock{mutex_};
  return given_up_ == replay ? why_ : nullptr;
}

bool replay_group::is_ahead(std::uint32_t part) const noexcept {
  // relaxed: nothing is read that the devices have written before
  auto const value = [this](std::uint32_t of) {
    return std::atomic_ref{row_.word(of)}.load(std::memory_order_relaxed);
  };
  std::uint64_t const own = value(part);
  for (std::uint32_t other = 0; other < parts(); ++other) {
    if (value(other) < own) { return true; }
  }
  return false;
}

}  // namespace flotilla::dispatch
