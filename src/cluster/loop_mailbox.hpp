// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a rank of testing::loop has received, and where it waits for more.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include <flotilla/cluster/transport.hpp>
#include <flotilla/testing/loop_transport.hpp>

namespace flotilla::cluster_ranks {

/// The error numbers of testing::loop.
enum loop_status : int {
  loop_cancelled = -1,
  loop_success = 0,
  loop_process_failed,  // the other rank was killed
  loop_killed,          // this rank was killed
  loop_refused,         // testing::loop::refuse_next
  loop_truncated,       // the message is longer than the receive
  loop_bad_argument,
  loop_bad_request,  // to cancel something that is no open receive
  loop_closed,       // the other rank has closed its transport
  loop_no_memory,
};

/// A request that has ended.
struct loop_ending {
  transport_event event{};
  bool has_message = false;  // a receive that has received
  int waiting_sender = -1;   // a rank whose send ends when this event was returned; -1: none
  int waiting_request = -1;  // its request
  std::int64_t arrival = 0;  // of a message, in nanoseconds of virtual time
};

/// A message on its way. `data` belongs to the sender.
struct loop_message {
  int source = 0;
  int tag = 0;
  std::byte const* data = nullptr;
  std::size_t bytes = 0;
  int waiting_request = -1;  // a send that ends only when the message was received; -1: none
  std::int64_t arrival = 0;
};

/// A receive that waits for a message.
struct loop_receive {
  int request = 0;
  int from = 0;
  int tag = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// How many bytes are on the way between all ranks.
class loop_traffic {
 public:
  void add(std::size_t bytes) noexcept {
    std::uint64_t const sum = now_.fetch_add(bytes) + bytes;
    for (std::uint64_t seen = max_; seen < sum && !max_.compare_exchange_weak(seen, sum);) {}
  }
  void remove(std::size_t bytes) noexcept { now_ -= bytes; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }

 private:
  std::atomic<std::uint64_t> now_{0}, max_{0};
};

/// Random numbers. This is SplitMix64, which has 8 bytes for each rank; std::mt19937_64 has 2.5 KB.
class loop_random {
 public:
  loop_random() = default;
  explicit loop_random(std::uint64_t seed) noexcept : state_{seed} {}
  /// Returns a number from 0 to `count` - 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t count) noexcept {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return (mixed ^ mixed >> 31) % count;
  }

 private:
  std::uint64_t state_ = 0;
};

/// Matches messages with receives. Outside of its functions, no message that has arrived matches a
/// receive that waits.
///
/// Threads  any. Every function takes the mutex of this mailbox, and no other one.
/// Cost     A message searches the receives that wait, and a receive the messages that wait. Memory
///          is allocated when it is needed first, and then used again.
class alignas(64) loop_mailbox {  // a cache line: neighbours belong to other threads
 public:
  /// Must be called before the others.
  void set_up(testing::loop_options const& options, int rank, loop_traffic& traffic) noexcept;

  // ---- the sender calls these ----
  /// Sends a message to this mailbox.
  /// @return loop_success, or why this rank will not receive the message.
  [[nodiscard]] int put(loop_message const& sent);
  /// Takes back the messages of a sender whose data will be gone.
  void withdraw(int source) noexcept;

  // ---- the rank calls these ----
  /// @param open    How many requests of the rank are open, with this one.
  /// @param sender  The mailbox of `wanted.from`; null for any source.
  void receive(loop_receive const& wanted, std::size_t open, loop_mailbox const* sender);
  /// Cancels a receive, if it waits.
  void cancel(int request) noexcept;
  /// Prepares for endings of sends that wait for their receivers.
  void make_room(std::size_t open);
  /// Moves requests that have ended to the end of `taken`.
  /// @param sent  Sends that have ended; taken over.
  void take(std::vector<loop_ending>& sent, std::size_t open, std::size_t capacity,
            std::vector<loop_ending>& taken);

  // ---- receivers call this ----
  /// Ends a send that has waited for its receiver.
  void end_send(int request, int status) noexcept;

  // ---- when a rank ends ----
  /// Returns false if the rank was killed before.
  [[nodiscard]] bool mark_killed() noexcept { return !killed_.exchange(true); }
  [[nodiscard]] bool is_killed() const noexcept { return killed_; }
  /// Empties the mailbox for ever.
  /// @param end_waiting  Is called with each sender that waits, and its request, without the mutex.
  template <class F>
  void close(F const& end_waiting);
  /// Learns that another rank was killed.
  void bury(int rank);

  void hold(int source);
  void release(int source) noexcept;
  [[nodiscard]] std::uint64_t lost() const noexcept;

 private:
  struct stored_message {
    loop_message what{};
    std::uint64_t due = 0;  // the number of the look at which it arrives
    std::vector<std::byte> copy{};
  };
  struct death {
    int rank = 0;
    std::uint64_t due = 0;  // the number of the look at which this rank notices
  };
  using messages = std::list<stored_message>;
  using receives = std::list<loop_receive>;

  // The caller of these functions has the mutex.
  [[nodiscard]] std::uint64_t delay() noexcept;
  [[nodiscard]] bool is_held(int source) const noexcept;
  void grow(std::size_t endings);
  [[nodiscard]] receives::iterator receive_of(loop_message const& sent) noexcept;
  void store(loop_message const& sent, std::uint64_t due, messages& where);
  void recycle(messages& from, messages::iterator which) noexcept;
  void finish(loop_receive const& wanted, loop_message const& sent) noexcept;
  void end(int request, int status) noexcept;
  void sweep() noexcept;
  void notice_deaths() noexcept;

  loop_traffic* traffic_ = nullptr;
  std::atomic<bool> killed_{false};
  int max_delay_ = 0;
  bool is_random_ = false;
  std::mutex mutable mutex_;
  // The mutex guards these members:
  messages travelling_, arrived_, unused_messages_;  // the first two in the order of arrival
  receives posted_, unused_receives_;                // in the order of the calls
  // Its capacity suffices for all requests that are open, so that others can end them without an
  // allocation.
  std::vector<loop_ending> ended_;
  std::vector<int> held_;
  std::vector<death> deaths_;  // that this rank has not noticed
  std::uint64_t looks_ = 0;    // calls of testsome
  loop_random random_{};
  std::uint64_t lost_ = 0;
  bool is_closed_ = false;
};

template <class F>
void loop_mailbox::close(F const& end_waiting) {
  messages waiting;
  std::vector<loop_ending> ended;
  {
    std::lock_guard const lock{mutex_};
    waiting.splice(waiting.end(), arrived_);
    waiting.splice(waiting.end(), travelling_);
    ended.swap(ended_);
    posted_.clear();
    is_closed_ = true;
    lost_ += waiting.size();
    for (loop_ending const& each : ended) { lost_ += each.has_message; }
  }
  for (stored_message const& each : waiting) {
    traffic_->remove(each.what.bytes);
    if (each.what.waiting_request >= 0) {
      end_waiting(each.what.source, each.what.waiting_request);
    }
  }
  for (loop_ending const& each : ended) {
    if (each.has_message) { traffic_->remove(each.event.bytes); }
    if (each.waiting_sender >= 0) { end_waiting(each.waiting_sender, each.waiting_request); }
  }
}

}  // namespace flotilla::cluster_ranks
