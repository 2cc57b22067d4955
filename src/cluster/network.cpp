// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/network.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include <flotilla/error/error.hpp>

#include "base/log.hpp"
#include "dispatch/trace/perfetto.hpp"

namespace flotilla::cluster_ranks {

void transfer::begin(std::unique_ptr<pending_task> self) noexcept {
  through_.add(std::unique_ptr<transfer>{static_cast<transfer*>(self.release())});
}

std::uint64_t transfer::arrow_from(int here) const noexcept {
  auto const other = static_cast<std::uint64_t>(who_.peer);
  auto const self = static_cast<std::uint64_t>(here);
  std::uint64_t made = 0;
  for (std::uint64_t const part :
       {std::uint64_t{who_.flow}, sends_ ? self : other, sends_ ? other : self, who_.number}) {
    made = (made ^ part) * 0x9e37'79b9'7f4a'7c15;
    made ^= made >> 32;
  }
  return made >> 2 | dispatch::perfetto::message_flow;
}

network::network(transport const& via, dispatch::host_submitter const& tasks,
                 dispatch::tracer& trace)
    : tasks_(tasks),
      trace_(trace),
      port_(via, state_),
      transfers_(port_, state_, tasks),
      clock_(trace, via.rank, via.ranks) {
  std::lock_guard const lock{lease_};
  try {
    port_.open();
  } catch (...) {
    port_.close();
    throw;
  }
}

void network::add(std::unique_ptr<transfer> begun) noexcept {
  transfer* const made = begun.release();
  made->next = begun_.load(std::memory_order_relaxed);
  // release: the thread that takes the list reads the transfer
  while (!begun_.compare_exchange_weak(made->next, made, std::memory_order_release,
                                       std::memory_order_relaxed)) {}
}

bool network::poll() noexcept {
  auto const self = std::this_thread::get_id();
  if (port_.via().threads == transport_threads::main_only && self != main_) { return false; }
  if (process_ != base::fork_generation()) { return false; }
  std::unique_lock lease{lease_, std::try_to_lock};
  if (!lease) { return false; }
  bool moved = false;
  try {
    moved = take_begun();
    bool const may_ask = !has_told_done_ && !state_.has_failed();
    if (clock_.is_due() && may_ask && !port_.to(0).has_ended) { port_.add(0, clock_.ask()); }
    port_.flush();
    moved =
        port_.test([this](int from, std::span<std::byte const> message) { read(from, message); },
                   [this](transfer& which) { transfers_.finish_copy(which); }) ||
        moved;
    port_.flush();
    if (has_told_done_ && !state_.has_failed()) { transfers_.check_unclaimed(); }
    if (state_.has_failed() && !has_failed_all_) { fail_all(); }
    if (!moved && ++idle_polls_ % 1024 == 0) { look_at_clock(); }
  } catch (std::bad_alloc const&) {
    // A transfer may be lost, so its task might never end.
    tasks_.note_out_of_memory();
  }
  std::vector<std::unique_ptr<transfer>> const ended = transfers_.take_ended();
  lease.unlock();
  end(ended);
  return moved || !ended.empty();
}

void network::end(std::span<std::unique_ptr<transfer> const> ended) noexcept {
  for (auto const& each : ended) {
    if (trace_.active()) [[unlikely]] {
      trace_.note_message(each->task, each->arrow_from(rank()), each->who().peer, each->sends());
    }
    tasks_.end(*each, each->why);
    open_.fetch_sub(1, std::memory_order_release);
  }
}

bool network::take_begun() {
  if (begun_.load(std::memory_order_relaxed) == nullptr) { return false; }
  // acquire: pairs with the release in `add`
  transfer* newest = begun_.exchange(nullptr, std::memory_order_acquire);
  transfer* oldest = nullptr;
  while (newest != nullptr) {
    transfer* const after = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, after);
  }
  while (oldest != nullptr) {
    std::unique_ptr<transfer> each{oldest};
    oldest = std::exchange(each->next, nullptr);
    transfers_.begin(std::move(each));
  }
  return true;
}

void network::read(int from, std::span<std::byte const> message) {
  auto const now = std::chrono::steady_clock::now();
  message_reader in{message};
  while (auto const item = in.next()) {
    switch (item->what.kind) {
      case record_kind::ask_time:
        // After its end, a rank sends nothing: it has told how many messages it sends.
        if (!has_told_done_ && !has_told_failure_) {
          port_.add(from, rank_clock::answer(item->what));
        }
        continue;
      case record_kind::time: clock_.note_answer(item->what); continue;
      case record_kind::small:
      case record_kind::large:
      case record_kind::lost:
      case record_kind::taken: transfers_.read(from, item->what, item->payload); break;
      case record_kind::idle:
        // release: pairs with the acquire in idle_records
        idle_[item->what.tag % std::size(idle_)].fetch_add(1, std::memory_order_release);
        break;
      case record_kind::ping: break;
      case record_kind::done:
      case record_kind::failed: note_end(from, item->what, item->payload); break;
    }
    // Questions about the time do not count: they go on while the ranks wait for each other.
    last_message_ = now;
    has_reported_ = false;
  }
  if (!in.is_valid()) {
    state_.fail(from, name_of(from) +
                          " has sent a message that this version of flotilla does not understand; "
                          "all ranks must use the same version");
  }
  if (port_.to(from).is_over()) { transfers_.check_ended(from); }
}

void network::note_end(int from, record const& what, std::span<std::byte const> payload) {
  endpoint& there = port_.to(from);
  there.has_ended = true;
  there.announced = what.number;
  if (what.kind == record_kind::failed) {
    state_.fail(from, {reinterpret_cast<char const*>(payload.data()), payload.size()});
  }
}

void network::fail_all() {
  has_failed_all_ = true;
  failed_at_ = std::chrono::steady_clock::now();
  transfers_.fail_all();
  add_end(record_kind::failed, state_.why()->text);
  port_.flush();
}

void network::tell_idle(int to, std::uint64_t number, std::uint32_t round) {
  std::lock_guard const lock{lease_};
  port_.add(to, {.kind = record_kind::idle, .number = number, .tag = round});
}

void network::add_end(record_kind kind, std::string const& why) {
  bool const is_failure = kind == record_kind::failed;
  if (std::exchange(is_failure ? has_told_failure_ : has_told_done_, true)) { return; }
  for (int to = 0; to < ranks(); ++to) {
    if (to == rank()) { continue; }
    endpoint& there = port_.to(to);
    if (is_failure) { there.give_up(); }
    std::size_t const bytes = std::min(why.size(), max_small_bytes);
    port_.add_text(to, {.kind = kind, .number = there.messages_with(bytes)}, why);
  }
}

void network::tell_end(record_kind kind, std::string const& why) noexcept {
  try {
    std::lock_guard const lock{lease_};
    add_end(kind, why);
  } catch (std::bad_alloc const&) {
    state_.fail(rank(), name_of(rank()) + " has no host memory for a message");
  }
}

bool network::is_over() {
  std::lock_guard const lock{lease_};
  if (port_.is_broken()) { return true; }
  if (open_.load(std::memory_order_acquire) != 0) { return false; }
  if (!has_told_done_ && !has_told_failure_) { return false; }    // this rank has not ended
  if (state_.has_failed() && !has_failed_all_) { return false; }  // the others were not told
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == rank()) { continue; }
    endpoint const& there = port_.to(peer);
    if (!there.is_over() || !there.is_empty()) { return false; }
  }
  return true;
}

int network::straggler() {
  std::lock_guard const lock{lease_};
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer != rank() && !port_.to(peer).is_over()) { return peer; }
  }
  return -1;
}

void network::look_at_clock() {
  constexpr std::chrono::seconds patience{2};
  auto const now = std::chrono::steady_clock::now();
  if (has_failed_all_ && !has_cancelled_ && now - failed_at_ > patience) {
    // Ranks that can finish their large copies have done so.
    has_cancelled_ = true;
    port_.cancel_copies();
  }
  constexpr std::chrono::seconds limit{10};
  transfer const* const first = transfers_.first_waiting();
  bool const is_silent = now - last_message_ > limit;
  if (first == nullptr || !is_silent || std::exchange(has_reported_, true)) { return; }
  base::log_format(
      log_level::warning,
      "rank %d of %d has got no message for %d s, and waits for %s (transfer %llu from "
      "rank %d)",
      rank(), ranks(), static_cast<int>(limit.count()), first->text().c_str(),
      static_cast<unsigned long long>(first->who().number), first->who().peer);
  // If the other rank is dead, some transports tell it only those that send.
  port_.add(first->who().peer, {.kind = record_kind::ping});
}

void network::close() noexcept {
  std::vector<std::unique_ptr<transfer>> left;
  {
    std::lock_guard const lock{lease_};
    state_.fail(rank(), name_of(rank()) + " has ended its cluster");
    try {
      take_begun();
      transfers_.fail_all();
      port_.close();
      port_.abandon([this](transfer& which) { transfers_.finish_copy(which); });
    } catch (std::bad_alloc const&) {
      state_.fail(rank(), name_of(rank()) + " has no host memory for a message");
    }
    left = transfers_.take_ended();
  }
  end(left);
}

cluster_counters network::counters() const noexcept {
  auto const value = [](std::atomic<std::uint64_t> const& of) {
    return of.load(std::memory_order_relaxed);
  };
  message_port::sums const& counts = port_.counts;
  return {.messages_sent = value(counts.messages_sent),
          .messages_received = value(counts.messages_received),
          .transfers_sent = value(counts.transfers_sent),
          .transfers_received = value(counts.transfers_received),
          .bytes_sent = value(counts.bytes_sent),
          .bytes_received = value(counts.bytes_received)};
}

}  // namespace flotilla::cluster_ranks
