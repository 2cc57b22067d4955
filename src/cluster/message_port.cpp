// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/message_port.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace flotilla::cluster_ranks {

std::byte* message_port::add(int to, record const& what) {
  endpoint& there = endpoints_[to];
  if (!std::exchange(there.is_listed, true)) { to_flush_.push_back(to); }
  return there.add(what, spare_);
}

void message_port::add_text(int to, record what, std::string const& text) {
  what.bytes = static_cast<std::uint32_t>(std::min(text.size(), max_small_bytes));
  std::memcpy(add(to, what), text.data(), what.bytes);
}

template <class Begin>
message_port::request_use* message_port::begin_request(Begin const& begin) {
  // Before the call, because afterwards the transport uses the memory of the message. Numbers are
  // small and used again, so a few places more than there are requests are enough.
  constexpr std::size_t margin = 64;
  if (requests_.capacity() < requests_.size() + margin) {
    requests_.reserve(2 * requests_.size() + margin);
  }
  int request = 0;
  if (is_refused(begin(&request), "a message")) { return nullptr; }
  return &use_of(request);
}

message_port::request_use& message_port::use_of(int request) {
  auto const index = static_cast<std::size_t>(request);
  if (index >= requests_.size()) { requests_.resize(index + 1); }
  return requests_[index];
}

void message_port::open() {
  if (via_.ranks == 1) { return; }
  for (int i = 0; i < receive_count; ++i) { receive(std::vector<std::byte>(max_message_bytes)); }
  state_.check();
}

void message_port::begin_copy(transfer& which, int tag) {
  std::byte* const first = which.staging();
  std::size_t const bytes = which.memory().bytes;
  int const peer = which.who().peer;
  for (std::size_t at = 0; at < bytes; at += max_copy_bytes) {
    std::size_t const length = std::min(max_copy_bytes, bytes - at);
    request_use* const use = begin_request([&](int* request) {
      return which.sends() ? via_.isend(via_.self, first + at, length, peer, tag, request)
                           : via_.irecv(via_.self, first + at, length, peer, tag, request);
    });
    if (use == nullptr) { return; }
    use->kind = request_use::kinds::copy;
    use->of = &which;
    ++which.open_messages;
  }
}

void message_port::discard(int from, std::uint64_t bytes, std::uint32_t tag) {
  for (std::uint64_t at = 0; at < bytes; at += max_copy_bytes) {
    std::vector<std::byte> memory(std::min<std::uint64_t>(max_copy_bytes, bytes - at));
    request_use* const use = begin_request([&](int* request) {
      return via_.irecv(via_.self, memory.data(), memory.size(), from, static_cast<int>(tag),
                        request);
    });
    if (use == nullptr) { return; }
    use->kind = request_use::kinds::discarded;
    use->message = std::move(memory);
  }
}

void message_port::cancel_copies() noexcept {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    request_use const& use = requests_[i];
    if (use.kind == request_use::kinds::copy && !use.of->sends()) {
      via_.cancel(via_.self, static_cast<int>(i));
    }
  }
}

void message_port::flush() {
  std::size_t kept = 0;
  for (int const peer : to_flush_) {
    endpoint& there = endpoints_[peer];
    while (there.is_ready()) {
      std::vector<std::byte> message = there.next(spare_);
      request_use* const use = begin_request([&](int* request) {
        return via_.isend(via_.self, message.data(), message.size(), peer, record_tag, request);
      });
      if (use == nullptr) {
        there.give_back(std::move(message));  // the others must learn of the failure
        break;
      }
      use->kind = request_use::kinds::records_out;
      use->peer = peer;
      use->message = std::move(message);
      ++there.in_flight;
      ++there.sent;
      base::add(counts.messages_sent);
    }
    // Otherwise it is listed again when a message has left, or a record is added.
    there.is_listed = there.is_ready();
    if (there.is_listed) { to_flush_[kept++] = peer; }
  }
  to_flush_.resize(kept);
}

void message_port::receive(std::vector<std::byte>&& memory) {
  request_use* const use = begin_request([&](int* request) {
    return via_.irecv(via_.self, memory.data(), memory.size(), transport::any_source, record_tag,
                      request);
  });
  if (use == nullptr) { return; }
  use->kind = request_use::kinds::records_in;
  use->message = std::move(memory);
}

void message_port::reuse(request_use& use) {
  constexpr std::size_t max_spare = 64;
  endpoint& there = endpoints_[use.peer];
  --there.in_flight;
  if (!std::exchange(there.is_listed, true)) { to_flush_.push_back(use.peer); }
  if (spare_.size() < max_spare) { spare_.push_back(std::move(use.message)); }
}

void message_port::note_refusal(int status, char const* call) {
  char text[512] = "";
  via_.describe(via_.self, status, text, sizeof text);
  state_.fail(via_.rank, name_of(via_.rank) + ": the transport (" + via_.library + ") refused " +
                             call + ": " + text);
}

std::size_t message_port::open_copies() const {
  std::set<transfer const*> found;
  for (request_use const& each : requests_) {
    if (each.kind == request_use::kinds::copy) { found.insert(each.of); }
  }
  return found.size();
}

}  // namespace flotilla::cluster_ranks
