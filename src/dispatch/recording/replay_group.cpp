// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/recording/replay_group.hpp"

#include <atomic>
#include <new>
#include <utility>

namespace flotilla::dispatch {

void replay_group::give_up(std::uint32_t part, std::uint64_t replay,
                           std::shared_ptr<failure const> why) noexcept {
  {
    std::lock_guard const lock{mutex_};
    std::erase_if(given_up_, [this](given_up const& each) {
      for (std::uint32_t i = 0; i < parts(); ++i) {
        if (!has_handled(i, each.replay)) { return false; }
      }
      return true;
    });
    try {
      given_up_.push_back({replay, std::move(why)});
    } catch (std::bad_alloc const&) {}  // then other parts run, although the replay has failed
  }
  progress_words::raise(row_.word(part), base(replay + 1) - 1);
}

std::shared_ptr<failure const> replay_group::failure_of(std::uint64_t replay) const noexcept {
  std::lock_guard const lock{mutex_};
  for (given_up const& each : given_up_) {
    if (each.replay == replay) { return each.why; }
  }
  return nullptr;
}

bool replay_group::is_ahead(std::uint32_t part) const noexcept {
  // relaxed: nothing is read that the devices have written before
  auto const value = [this](std::uint32_t of) {
    return std::atomic_ref{row_.word(of)}.load(std::memory_order_relaxed);
  };
  std::uint64_t const own = value(part);
  std::uint64_t const replay = own / levels_;
  for (std::uint32_t other = 0; other < parts(); ++other) {
    bool const has_ended = ended_[other].load(std::memory_order_relaxed) >= replay;
    if (!has_ended && value(other) < own) { return true; }
  }
  return false;
}

}  // namespace flotilla::dispatch
