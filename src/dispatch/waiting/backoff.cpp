// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/waiting/backoff.hpp"

#include <algorithm>

#include "context/lease.hpp"
#include "dispatch/fault/fault_monitor.hpp"

namespace flotilla::dispatch {

namespace {

using std::chrono::milliseconds;
constexpr milliseconds first_poll{2};
constexpr milliseconds max_propagation_interval{1};
// After this time without progress, a helper also runs the callables of other threads.
constexpr milliseconds max_restraint{1};

}  // namespace

backoff::backoff(bool single_threaded, clock::time_point now) noexcept
    : single_threaded_(single_threaded),
      begun_(now),
      last_move_(now),
      next_poll_(now + first_poll) {}

helper_filter backoff::filter(clock::time_point now) const noexcept {
  // Normally a helper runs only the callables that its own thread submitted. It runs all callables
  // in two cases. In single-threaded mode no other thread runs them. And after 1 ms without
  // progress, the helper may be waiting for callables of other threads, for example because these
  // callables fill the window.
  if (single_threaded_ || now - last_move_ > max_restraint) { return {}; }
  return {static_cast<std::uint32_t>(context::this_thread_token())};
}

bool backoff::should_poll_health(clock::time_point now) noexcept {
  if (now < next_poll_) { return false; }
  next_poll_ = now + fault_monitor::poll_interval;
  return true;
}

bool backoff::should_propagate(clock::time_point now) noexcept {
  if (now < next_propagation_) { return false; }
  next_propagation_ = now + propagation_interval_;
  propagation_interval_ =
      std::min<clock::duration>(2 * propagation_interval_, max_propagation_interval);
  return true;
}

void backoff::reset(clock::time_point now) noexcept {
  last_move_ = now;
  round_ = 0;
}

}  // namespace flotilla::dispatch
