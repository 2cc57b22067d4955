// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/loop_mailbox.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace flotilla::cluster_ranks {

void loop_mailbox::set_up(testing::loop_options const& options, int rank,
                          loop_traffic& traffic) noexcept {
  is_random_ = options.seed != 0;
  random_ = loop_random{options.seed + static_cast<std::uint64_t>(rank) * 0xd1342543de82ef95};
  max_delay_ = is_random_ ? options.max_delay : 0;
  traffic_ = &traffic;
}

std::uint64_t loop_mailbox::delay() noexcept {
  return max_delay_ == 0 ? 0 : random_.below(static_cast<std::uint64_t>(max_delay_) + 1);
}

bool loop_mailbox::is_held(int source) const noexcept {
  return !held_.empty() && std::find(held_.begin(), held_.end(), source) != held_.end();
}

void loop_mailbox::grow(std::size_t endings) {
  if (ended_.capacity() < endings) { ended_.reserve(2 * endings); }
}

void loop_mailbox::end(int request, int status) noexcept {
  ended_.push_back({.event = {.request = request, .status = status}});
}

void loop_mailbox::make_room(std::size_t open) {
  std::lock_guard const lock{mutex_};
  grow(open);
}

// ---- messages ---------------------------------------------------------------------------------

int loop_mailbox::put(loop_message const& sent) {
  std::lock_guard const lock{mutex_};
  if (killed_) { return loop_process_failed; }
  if (is_closed_) {
    ++lost_;
    return sent.waiting_request < 0 ? loop_success : loop_closed;
  }
  std::uint64_t due = looks_ + delay();
  for (stored_message const& each : travelling_) {  // those before this one arrive before it
    if (each.what.source == sent.source && each.what.tag == sent.tag) {
      due = std::max(due, each.due);
    }
  }
  if (due > looks_ || is_held(sent.source)) {
    store(sent, due, travelling_);
  } else if (auto const found = receive_of(sent); found != posted_.end()) {
    finish(*found, sent);
    unused_receives_.splice(unused_receives_.end(), posted_, found);
  } else {
    store(sent, due, arrived_);
  }
  traffic_->add(sent.bytes);
  return loop_success;
}

void loop_mailbox::store(loop_message const& sent, std::uint64_t due, messages& where) {
  if (unused_messages_.empty()) { unused_messages_.emplace_back(); }
  stored_message& made = unused_messages_.back();
  made.what = sent;
  made.due = due;
  if (sent.waiting_request < 0 && sent.bytes != 0) {
    made.copy.assign(sent.data, sent.data + sent.bytes);
    made.what.data = made.copy.data();
  }
  where.splice(where.end(), unused_messages_, std::prev(unused_messages_.end()));
}

void loop_mailbox::recycle(messages& from, messages::iterator which) noexcept {
  constexpr std::size_t max_kept_bytes = 64 << 10;  // of a message that waits for the next use
  if (which->copy.capacity() > max_kept_bytes) { std::vector<std::byte>{}.swap(which->copy); }
  unused_messages_.splice(unused_messages_.end(), from, which);
}

loop_mailbox::receives::iterator loop_mailbox::receive_of(loop_message const& sent) noexcept {
  return std::find_if(posted_.begin(), posted_.end(), [&](loop_receive const& each) {
    return each.tag == sent.tag && (each.from == sent.source || each.from == transport::any_source);
  });
}

void loop_mailbox::finish(loop_receive const& wanted, loop_message const& sent) noexcept {
  std::size_t const bytes = std::min(wanted.bytes, sent.bytes);
  if (bytes != 0) { std::memcpy(wanted.data, sent.data, bytes); }
  loop_ending ending{.has_message = true, .arrival = sent.arrival};
  ending.event = {.request = wanted.request, .source = sent.source, .bytes = sent.bytes};
  if (bytes < sent.bytes) { ending.event.status = loop_truncated; }
  if (sent.waiting_request >= 0) {
    ending.waiting_sender = sent.source;
    ending.waiting_request = sent.waiting_request;
  }
  ended_.push_back(ending);
}

/// Lets the messages arrive that are due. Those of one sender with the same tag have due times in
/// the order of sending, and are held together, so they stay in order.
void loop_mailbox::sweep() noexcept {
  for (auto next = travelling_.begin(); next != travelling_.end();) {
    auto const each = next++;
    if (each->due > looks_ || is_held(each->what.source)) { continue; }
    if (auto const found = receive_of(each->what); found != posted_.end()) {
      finish(*found, each->what);
      unused_receives_.splice(unused_receives_.end(), posted_, found);
      recycle(travelling_, each);
    } else {
      arrived_.splice(arrived_.end(), travelling_, each);
    }
  }
}

// ---- requests ---------------------------------------------------------------------------------

void loop_mailbox::receive(loop_receive const& wanted, std::size_t open,
                           loop_mailbox const* sender) {
  std::lock_guard const lock{mutex_};
  grow(open);
  auto const found =
      std::find_if(arrived_.begin(), arrived_.end(), [&](stored_message const& each) {
        return each.what.tag == wanted.tag &&
               (wanted.from == each.what.source || wanted.from == transport::any_source);
      });
  if (found != arrived_.end()) {
    finish(wanted, found->what);
    return recycle(arrived_, found);
  }
  bool const is_unnoticed = std::any_of(
      deaths_.begin(), deaths_.end(), [&](death const& each) { return each.rank == wanted.from; });
  if (sender != nullptr && sender->is_killed() && !is_unnoticed) {
    return end(wanted.request, loop_process_failed);
  }
  if (unused_receives_.empty()) { unused_receives_.emplace_back(); }
  unused_receives_.back() = wanted;
  posted_.splice(posted_.end(), unused_receives_, std::prev(unused_receives_.end()));
}

void loop_mailbox::cancel(int request) noexcept {
  std::lock_guard const lock{mutex_};
  auto const found = std::find_if(posted_.begin(), posted_.end(), [&](loop_receive const& each) {
    return each.request == request;
  });
  if (found == posted_.end()) { return; }  // it has received, and its event comes
  unused_receives_.splice(unused_receives_.end(), posted_, found);
  end(request, loop_cancelled);
}

void loop_mailbox::take(std::vector<loop_ending>& sent, std::size_t open, std::size_t capacity,
                        std::vector<loop_ending>& taken) {
  std::lock_guard const lock{mutex_};
  grow(open);
  taken.reserve(std::min(capacity, open));
  ++looks_;
  if (!travelling_.empty()) { sweep(); }
  if (!deaths_.empty()) { notice_deaths(); }
  ended_.insert(ended_.end(), sent.begin(), sent.end());
  sent.clear();
  std::size_t const count = std::min(capacity, ended_.size());
  for (std::size_t i = 0; is_random_ && i < count; ++i) {
    std::swap(ended_[i], ended_[i + random_.below(ended_.size() - i)]);
  }
  auto const last = ended_.begin() + static_cast<std::ptrdiff_t>(count);
  taken.insert(taken.end(), ended_.begin(), last);
  ended_.erase(ended_.begin(), last);
}

void loop_mailbox::end_send(int request, int status) noexcept {
  std::lock_guard const lock{mutex_};
  if (!is_closed_) { end(request, status); }
}

// ---- faults -----------------------------------------------------------------------------------

void loop_mailbox::bury(int rank) {
  withdraw(rank);
  std::lock_guard const lock{mutex_};
  deaths_.push_back({.rank = rank, .due = looks_ + delay()});
}

void loop_mailbox::notice_deaths() noexcept {
  for (std::size_t i = 0; i < deaths_.size();) {
    death const noticed = deaths_[i];
    if (noticed.due > looks_) {
      ++i;
      continue;
    }
    deaths_.erase(deaths_.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto next = posted_.begin(); next != posted_.end();) {
      auto const each = next++;
      if (each->from != noticed.rank) { continue; }
      end(each->request, loop_process_failed);
      unused_receives_.splice(unused_receives_.end(), posted_, each);
    }
  }
}

void loop_mailbox::withdraw(int source) noexcept {
  std::lock_guard const lock{mutex_};
  for (messages* const from : {&travelling_, &arrived_}) {
    for (auto next = from->begin(); next != from->end();) {
      auto const each = next++;
      if (each->what.source != source || each->what.waiting_request < 0) { continue; }
      traffic_->remove(each->what.bytes);
      recycle(*from, each);
    }
  }
}

void loop_mailbox::hold(int source) {
  std::lock_guard const lock{mutex_};
  if (!is_held(source)) { held_.push_back(source); }
}

void loop_mailbox::release(int source) noexcept {
  std::lock_guard const lock{mutex_};
  std::erase(held_, source);
  sweep();
}

std::uint64_t loop_mailbox::lost() const noexcept {
  std::lock_guard const lock{mutex_};
  return lost_;
}

}  // namespace flotilla::cluster_ranks
