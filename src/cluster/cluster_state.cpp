// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_state.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include <flotilla/detail/wait_interruption.hpp>
#include <flotilla/error/error.hpp>

#include "base/access.hpp"
#include "base/log.hpp"
#include "cluster/launcher.hpp"

namespace flotilla::cluster_ranks {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds report_after{10};
// How long the end waits for other ranks after a rank has failed.
constexpr std::chrono::seconds patience_after_failure{10};

void check_transport(transport const& via) {
  bool const is_complete = via.size >= sizeof(transport) && via.isend != nullptr &&
                           via.irecv != nullptr && via.testsome != nullptr &&
                           via.cancel != nullptr && via.describe != nullptr && via.close != nullptr;
  if (!is_complete) {
    throw invalid_argument(
        "the transport of a cluster lacks a function, or was filled by an "
        "older header");
  }
  if (via.ranks < 1 || via.rank < 0 || via.rank >= via.ranks) {
    throw invalid_argument("the transport of a cluster says that this is rank " +
                           std::to_string(via.rank) + " of " + std::to_string(via.ranks));
  }
  check_launcher(via);
}

/// Returns the transport. Closes it if it is refused.
[[nodiscard]] transport const& checked(transport const& via) {
  try {
    check_transport(via);
  } catch (...) {
    if (via.size >= sizeof(transport) && via.close != nullptr) { via.close(via.self); }
    throw;
  }
  return via;
}

}  // namespace

cluster_state::cluster_state(runtime& owner, transport const& via)
    : owner_(owner),
      runtime_(dispatch::runtime_state::of(detail::access::impl(owner))),
      polled_(runtime_.waits.with().shared.polled),
      network_(checked(via), runtime_.host, runtime_.waits.with().shared.trace) {
  try {
    runtime_.usage.check_usable();
    if (ranks() > 1) { polled_.add(network_); }
  } catch (...) {
    network_.close();
    throw;
  }
}

bool cluster_state::submit(bool sends, transfer::identity const& who, host_box const& memory,
                           detail::reduction const* how, std::string_view data,
                           std::string_view task, dispatch::flow_task_options const& options,
                           ticket* made) {
  std::unique_ptr<dispatch::pending_task> what =
      std::make_unique<transfer>(network_, sends, who, memory, how, data, task);
  ++network_.open();
  bool is_open = false;
  try {
    is_open = runtime_.host.open(what, options, made);
  } catch (...) {
    --network_.open();
    throw;
  }
  if (!is_open) { --network_.open(); }
  return is_open;
}

void cluster_state::drive_runtime() noexcept {
  // In single-threaded mode, only this thread can let tasks begin and end.
  try {
    if (!runtime_.usage.is_forked()) { runtime_.pump_if_single_threaded(); }
  } catch (std::exception const&) {}  // whoever waits for the tasks gets the error
}

template <class Done>
bool cluster_state::wait_until(Done const& done, clock::duration limit, char const* what) {
  constexpr int max_yields = 2000;
  auto const begun = clock::now();
  auto next_report = begun + report_after;
  int rounds = 0;
  while (!done()) {
    if (polled_.poll()) {
      rounds = 0;
      continue;
    }
    drive_runtime();
    detail::interruptible_waits::check();
    if (++rounds < max_yields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    auto const now = clock::now();
    if (now - begun > limit) { return false; }
    if (now > next_report) {
      next_report = clock::time_point::max();
      base::log_format(log_level::warning, "rank %d of %d has waited for %d s: %s (rank %d)",
                       rank(), ranks(), static_cast<int>(report_after.count()), what,
                       network_.straggler());
    }
  }
  return true;
}

void cluster_state::fail(std::string_view why) noexcept {
  if (runtime_.usage.is_forked()) { return; }
  try {
    std::string const text = name_of(rank()) + " has failed: " + std::string{why};
    network_.state().fail(rank(), text);
  } catch (std::bad_alloc const&) { network_.state().fail(rank(), "a rank has failed"); }
  network_.poll();  // tells the other ranks; see finish
}

void cluster_state::check_not_excluding(char const* call) {
  runtime_.usage.check_process();
  if (!network_.lease().is_excluding()) { return; }
  throw would_deadlock(std::string{"cluster::"} + call +
                       " was called inside cluster::exclusive, where nothing can be received");
}

void cluster_state::check_open() {
  check();
  if (has_finished_.load(std::memory_order_relaxed)) [[unlikely]] {
    throw invalid_argument("the flow can take no more tasks, because cluster::finish was called");
  }
}

void cluster_state::wait_idle() {
  check_not_excluding("wait_idle");
  runtime_.wait_idle();
  check();
  std::lock_guard const lock{idle_mutex_};
  // After an interruption, the next call goes on, because the other ranks still wait for this one.
  if (!std::exchange(is_waiting_idle_, true)) {
    ++idle_waits_;
    told_rounds_ = 0;
  }
  std::uint64_t const number = idle_waits_;
  // In round k, each rank waits for the one 2^k before it. So after the last round all have begun.
  std::uint32_t round = 0;
  for (int step = 1; step < ranks(); step *= 2, ++round) {
    if (round == told_rounds_) {
      network_.tell_idle((rank() + step) % ranks(), number, round);
      ++told_rounds_;
    }
    int const from = (rank() + ranks() - step) % ranks();
    auto const has_come = [&] {
      // In this order: the record may come, and the other rank may end, between the two looks.
      bool const has_ended = network_.has_ended(from);
      if (network_.state().has_failed() || network_.idle_records(round) >= number) { return true; }
      if (has_ended) {
        network_.state().fail(from, name_of(from) + " has ended its cluster, but " +
                                        name_of(rank()) +
                                        " has called wait_idle; the programs of the ranks differ");
      }
      return false;
    };
    wait_until(has_come, clock::duration::max(), "other ranks have not called wait_idle");
    check();
  }
  // After this call the program may block in MPI, where nobody would send what is left.
  wait_until([this] { return network_.state().has_failed() || network_.is_quiet(); },
             clock::duration::max(), "messages have not left");
  is_waiting_idle_ = false;
}

void cluster_state::finish() {
  check_not_excluding("finish");
  check();  // after a failure, tasks may wait for messages that never come
  if (has_finished_.exchange(true)) {
    if (!has_told_end_) { runtime_.wait_idle(); }  // another thread has not finished yet
    return;
  }
  try {
    runtime_.wait_idle();
    network_.tell_end(record_kind::done);
  } catch (...) {
    has_finished_ = false;  // the other ranks were not told, so a later call must do it
    throw;
  }
  has_told_end_ = true;
  // Not through the pollers: while their thread polls, they do nothing, and that thread may be one
  // that must not use the transport.
  network_.poll();
}

void cluster_state::wait_for_ranks() {
  if (has_waited_for_ranks_) { return; }  // after a failure, this would take 10 s again
  auto const is_over = [this] { return network_.is_over() || network_.state().has_failed(); };
  wait_until(is_over, clock::duration::max(), "other ranks have not ended their clusters");
  if (network_.state().has_failed()) {
    wait_until([this] { return network_.is_over(); }, patience_after_failure, "");
    // Transfers begin, and fail, when the tasks before them have ended.
    wait_until([this] { return network_.has_only_copies(); }, clock::duration::max(),
               "tasks have not ended");
  }
  has_waited_for_ranks_ = true;
}

void cluster_state::end() noexcept {
  detail::interruptible_waits const never{nullptr, nullptr};
  // In a child of fork() there are no threads that could help, and MPI must not be used.
  if (runtime_.usage.is_forked()) { return; }
  // After a failure, tasks may wait for messages that never come.
  bool const had_failed = network_.state().has_failed();
  if (!had_failed) {
    try {
      finish();
    } catch (std::exception const& why) { fail(why.what()); }
  }
  if (ranks() > 1) {
    wait_for_ranks();
    polled_.remove(network_);
    // The program gets no exception for what was noticed only here.
    if (!had_failed && network_.state().has_failed()) {
      base::log_format(log_level::error, "the end of a cluster: %s",
                       network_.state().why()->text.c_str());
    }
  }
  network_.close();
}

}  // namespace flotilla::cluster_ranks
