// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/transfer_table.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <flotilla/error/error.hpp>

#include "base/single_writer.hpp"

namespace flotilla::cluster_ranks {

namespace {

/// Returns the rank on which a failure began, and its text, which begins with the rank.
[[nodiscard]] std::pair<int, std::string> origin_of(dispatch::failure const& why, int here) {
  try {
    std::rethrow_exception(why.error);
  } catch (remote_error const& error) { return {error.rank(), why.text}; } catch (...) {
    return {here, name_of(here) + ": " + why.text};
  }
}

}  // namespace

void transfer_table::begin(std::unique_ptr<transfer> which) {
  if (state_.has_failed()) {
    which->why = state_.why();
    return end(std::move(which));
  }
  which->why = tasks_.refusal(*which);
  auto const& who = which->who();
  stream& with = stream_of(who.flow, who.peer);
  if (which->sends()) {
    if (with.may_send(who.number)) { return send(std::move(which)); }
    if (port_.to(who.peer).is_over()) { fail_late(*which); }
    with.held.emplace(who.number, std::move(which));
    return;
  }
  auto const found = with.arrived.find(who.number);
  if (found != with.arrived.end()) {
    arrived_record const here = std::move(found->second);
    with.arrived.erase(found);
    return match(std::move(which), here.what, here.payload);
  }
  if (port_.to(who.peer).is_over()) { fail_late(*which); }
  with.waiting.emplace(who.number, std::move(which));
}

void transfer_table::send(std::unique_ptr<transfer> which) {
  auto const& [flow, peer, number, datum, version] = which->who();
  record what{.flow = flow, .number = number, .datum = datum, .version = version};
  what.total = which->memory().bytes;
  base::add(port_.counts.transfers_sent);
  if (which->why != nullptr) {
    what.kind = record_kind::lost;
    auto const [origin, text] = origin_of(which->why->first_cause(), port_.via().rank);
    what.tag = static_cast<std::uint32_t>(origin);
    port_.add_text(peer, what, text);
    return end(std::move(which));
  }
  base::add(port_.counts.bytes_sent, what.total);
  if (what.total <= max_small_bytes) {
    what.kind = record_kind::small;
    what.bytes = static_cast<std::uint32_t>(what.total);
    which->memory().copy_to(port_.add(peer, what));
    return end(std::move(which));
  }
  what.kind = record_kind::large;
  what.large = port_.to(peer).take_large();
  what.tag = endpoint::tag_of(what.large);
  port_.add(peer, what);
  transfer& begun = *which.release();
  port_.begin_copy(begun, static_cast<int>(what.tag));
  if (begun.open_messages == 0) { finish_copy(begun); }
}

void transfer_table::match(std::unique_ptr<transfer> which, record const& what,
                           std::span<std::byte const> payload) {
  auto const& who = which->who();
  note_taken(who);
  if (what.datum != who.datum || what.version != who.version ||
      what.total != which->memory().bytes) {
    fail(*which, what);
    which->why = state_.why();
    // The sender must be able to finish.
    if (what.kind == record_kind::large) { port_.discard(who.peer, what.total, what.tag); }
    return end(std::move(which));
  }
  if (what.kind == record_kind::large) {
    port_.to(who.peer).note_received(what.large);
    transfer& begun = *which.release();
    port_.begin_copy(begun, static_cast<int>(what.tag));
    if (begun.open_messages == 0) { finish_copy(begun); }
    return;
  }
  if (what.kind == record_kind::small) {
    deliver(*which, payload.data());
    base::add(port_.counts.transfers_received);
    base::add(port_.counts.bytes_received, what.total);
  } else if (which->why == nullptr) {
    std::string const text{reinterpret_cast<char const*>(payload.data()), payload.size()};
    which->why = dispatch::make_failure(
        std::make_exception_ptr(remote_error(static_cast<int>(what.tag), text)));
  }
  end(std::move(which));
}

void transfer_table::finish_copy(transfer& which) {
  std::unique_ptr<transfer> over{&which};
  if (state_.has_failed() && over->why == nullptr) { over->why = state_.why(); }
  if (!over->sends()) {
    deliver(*over, over->staging());
    base::add(port_.counts.transfers_received);
    base::add(port_.counts.bytes_received, over->memory().bytes);
  }
  end(std::move(over));
}

void transfer_table::deliver(transfer& to, std::byte const* from) {
  try {
    to.deliver(from);
  } catch (...) {
    // The operation of a reduction is code of the program.
    to.why = dispatch::make_failure(std::current_exception());
  }
}

void transfer_table::note_taken(transfer::identity const& of) {
  stream& from = stream_of(of.flow, of.peer);
  from.taken.take(of.number);
  // A rank that has ended needs no report, and may no longer take it.
  if (port_.to(of.peer).has_ended) { return; }
  if (auto const all_below = from.taken.report()) {
    port_.add(of.peer, {.kind = record_kind::taken, .flow = of.flow, .number = *all_below});
  }
}

void transfer_table::read(int from, record const& what, std::span<std::byte const> payload) {
  stream& with = stream_of(what.flow, from);
  if (state_.has_failed()) {
    // The sender must be able to finish.
    if (what.kind == record_kind::large) { port_.discard(from, what.total, what.tag); }
    return;
  }
  if (what.kind == record_kind::taken) {
    with.acknowledged = std::max(with.acknowledged, what.number);
    while (!with.held.empty() && with.may_send(with.held.begin()->first)) {
      send(std::move(with.held.extract(with.held.begin()).mapped()));
    }
    return;
  }
  if (!with.taken.expects(what.number) || with.arrived.contains(what.number)) {
    return state_.fail(from, name_of(from) + " has sent transfer " + std::to_string(what.number) +
                                 " twice or too early");
  }
  if (what.kind == record_kind::large && !port_.to(from).note_announced(what.large)) {
    return state_.fail(port_.via().rank, name_of(port_.via().rank) +
                                             " has not taken a large copy from " + name_of(from) +
                                             " although " + std::to_string(transport::max_tag) +
                                             " others came after it");
  }
  auto const found = with.waiting.find(what.number);
  if (found == with.waiting.end()) {
    with.arrived.emplace(what.number, arrived_record{what, {payload.begin(), payload.end()}});
    return;
  }
  std::unique_ptr<transfer> which = std::move(found->second);
  with.waiting.erase(found);
  match(std::move(which), what, payload);
}

void transfer_table::check_ended(int rank) {
  for (auto const& [key, each] : streams_) {
    bool const is_from = static_cast<int>(key & 0xffff'ffff) == rank;
    if (!is_from) { continue; }
    for (auto const* const list : {&each.waiting, &each.held}) {
      if (!list->empty()) { fail_late(*list->begin()->second); }
    }
  }
}

void transfer_table::fail(transfer const& which, record const& what) {
  auto const& who = which.who();
  auto const data = [](std::uint32_t version, std::uint32_t datum, std::uint64_t bytes) {
    return "version " + std::to_string(version) + " of the data that were made as number " +
           std::to_string(datum) + " (" + std::to_string(bytes) + " bytes)";
  };
  int const here = port_.via().rank;
  state_.fail(here, "the programs of the ranks differ: as transfer " + std::to_string(who.number) +
                        " from " + name_of(who.peer) + ", " + name_of(here) + " expects " +
                        which.text() + ", " + data(who.version, who.datum, which.memory().bytes) +
                        ", but got " + data(what.version, what.datum, what.total));
}

void transfer_table::fail_late(transfer const& which) {
  int const peer = which.who().peer;
  state_.fail(peer, name_of(peer) + " has ended its cluster, but " + name_of(port_.via().rank) +
                        (which.sends() ? " still has to send it " : " still waits for ") +
                        which.text() + "; the programs of the ranks differ");
}

void transfer_table::check_unclaimed() {
  for (auto const& [key, each] : streams_) {
    if (each.arrived.empty()) { continue; }
    record const& what = each.arrived.begin()->second.what;
    int const from = static_cast<int>(key & 0xffff'ffff);
    return state_.fail(from, name_of(from) + " has sent version " + std::to_string(what.version) +
                                 " of the data that were made as number " +
                                 std::to_string(what.datum) + ", but " + name_of(port_.via().rank) +
                                 " has ended its cluster; the programs of the ranks differ");
  }
}

void transfer_table::fail_all() {
  auto const end_failed = [this](auto& list) {
    while (!list.empty()) {
      std::unique_ptr<transfer> which = std::move(list.extract(list.begin()).mapped());
      which->why = state_.why();
      end(std::move(which));
    }
  };
  for (auto& [key, each] : streams_) {
    end_failed(each.held);
    end_failed(each.waiting);
    for (auto const& [number, lost] : each.arrived) {
      if (lost.what.kind != record_kind::large) { continue; }
      port_.discard(static_cast<int>(key & 0xffff'ffff), lost.what.total, lost.what.tag);
    }
    each.arrived.clear();
  }
}

transfer const* transfer_table::first_waiting() const noexcept {
  for (auto const& [key, each] : streams_) {
    if (!each.waiting.empty()) { return each.waiting.begin()->second.get(); }
  }
  return nullptr;
}

}  // namespace flotilla::cluster_ranks
