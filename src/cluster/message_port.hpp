// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sends and receives messages through the transport.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <flotilla/cluster/cluster.hpp>
#include <flotilla/cluster/transport.hpp>

#include "base/single_writer.hpp"
#include "cluster/endpoint.hpp"
#include "cluster/message.hpp"
#include "cluster/rank_state.hpp"
#include "cluster/transfer.hpp"

namespace flotilla::cluster_ranks {

/// All messages of a rank: those of records, and those of large copies. An error of the transport
/// ends the cluster.
///
/// Threads: one at a time.
class message_port {
 public:
  message_port(transport const& via, rank_state& state) : via_(via), state_(state) {}
  ~message_port() = default;
  message_port(message_port const&) = delete;
  message_port& operator=(message_port const&) = delete;

  [[nodiscard]] transport const& via() const noexcept { return via_; }
  /// Begins to receive messages of records.
  void open();
  /// Appends a record to the next message to a rank. @return where its bytes go.
  std::byte* add(int to, record const& what);
  /// Appends a record that is followed by a text.
  void add_text(int to, record what, std::string const& text);
  /// Begins to send or receive the bytes of a large transfer.
  void begin_copy(transfer& which, int tag);
  /// Receives the bytes of a large transfer that nobody needs, so that the sender can go on.
  void discard(int from, std::uint64_t bytes, std::uint32_t tag);
  /// Stops the large transfers to this rank. Those that have arrived end as usual.
  void cancel_copies() noexcept;
  /// Sends the messages that are ready.
  void flush();
  /// Looks which messages have arrived or left.
  /// @param on_message  Called as on_message(from, bytes) for each message of records.
  /// @param on_copy     Called as on_copy(transfer&) if no message of a large transfer is open.
  /// @return whether there was any.
  template <class OnMessage, class OnCopy>
  bool test(OnMessage const& on_message, OnCopy const& on_copy);
  /// Returns whether no message of records is open, and none has to be sent.
  [[nodiscard]] bool is_quiet() const noexcept {
    return std::all_of(endpoints_.begin(), endpoints_.end(),
                       [](auto const& each) { return each.second.is_empty(); });
  }
  [[nodiscard]] endpoint& to(int rank) { return endpoints_[rank]; }
  /// Gives up all large copies after the transport was closed. Calls on_copy for each.
  template <class OnCopy>
  void abandon(OnCopy const& on_copy);
  /// Returns whether the last look was refused, so that nothing may ever arrive.
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }
  /// Returns how many large copies are on the way.
  [[nodiscard]] std::size_t open_copies() const;
  /// Frees the transport.
  void close() noexcept { via_.close(via_.self); }

  // What was sent and received. Threads that read them need not hold anything.
  struct sums {
    std::atomic<std::uint64_t> messages_sent{0}, messages_received{0}, transfers_sent{0},
        transfers_received{0}, bytes_sent{0}, bytes_received{0};
  } counts;

 private:
  static constexpr int receive_count = 16;
  static constexpr int capacity = 16;  // events of one look

  struct request_use {
    enum class kinds { none, records_in, records_out, copy, discarded } kind = kinds::none;
    int peer = 0;                      // records_out
    std::vector<std::byte> message{};  // records_in, records_out, discarded
    transfer* of = nullptr;            // copy
  };

  /// Calls begin(&request), which begins to send or receive.
  /// @return where to note what the request is for; null if the transport has refused it.
  template <class Begin>
  [[nodiscard]] request_use* begin_request(Begin const& begin);
  [[nodiscard]] request_use& use_of(int request);
  void receive(std::vector<std::byte>&& memory);
  /// Handles a message of records that has left.
  void reuse(request_use& use);
  void note_refusal(int status, char const* call);
  [[nodiscard]] bool is_refused(int status, char const* call) {
    if (status == 0) [[likely]] { return false; }
    note_refusal(status, call);
    return true;
  }

  transport const via_;
  rank_state& state_;
  std::unordered_map<int, endpoint> endpoints_;
  std::vector<request_use> requests_;  // by number
  std::vector<int> to_flush_;          // endpoints
  std::vector<std::vector<std::byte>> spare_;
  std::array<transport_event, capacity> events_;
  bool is_broken_ = false;
};

template <class OnCopy>
void message_port::abandon(OnCopy const& on_copy) {
  for (request_use& use : requests_) {
    if (use.kind != request_use::kinds::copy) { continue; }
    transfer& which = *std::exchange(use, {}).of;
    if (--which.open_messages == 0) { on_copy(which); }
  }
}

template <class OnMessage, class OnCopy>
bool message_port::test(OnMessage const& on_message, OnCopy const& on_copy) {
  bool moved = false;
  // Bounded: other threads want to poll, too.
  for (int rounds = 0; rounds < 8 && via_.ranks > 1; ++rounds) {
    int count = 0;
    transport_event* const events = events_.data();
    is_broken_ = is_refused(via_.testsome(via_.self, events, capacity, &count), "testsome");
    if (is_broken_ || count == 0) { break; }
    // The transport may use the numbers of all these requests again for the next ones.
    request_use uses[capacity];
    for (int i = 0; i < count; ++i) { uses[i] = std::exchange(use_of(events[i].request), {}); }
    for (int i = 0; i < count; ++i) {
      request_use& use = uses[i];
      if (events[i].status > 0) { note_refusal(events[i].status, "a message"); }
      if (use.kind == request_use::kinds::records_out) {
        if (events[i].status != 0) { endpoints_[use.peer].note_death(); }
        reuse(use);
      } else if (use.kind == request_use::kinds::copy) {
        if (--use.of->open_messages == 0) { on_copy(*use.of); }
      } else if (use.kind == request_use::kinds::records_in && events[i].status == 0) {
        ++endpoints_[events[i].source].received;
        base::add(counts.messages_received);
        on_message(events[i].source, std::span{use.message}.first(events[i].bytes));
        receive(std::move(use.message));
      }
    }
    moved = true;
    if (count < capacity) { break; }
  }
  return moved;
}

}  // namespace flotilla::cluster_ranks
