// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A transport that puts many ranks into one process, for tests and simulations of programs that
/// use a cluster. It can delay messages, let them overtake each other where MPI permits it, refuse
/// calls, and kill ranks.
///
///     flotilla::testing::loop ranks{2, {.seed = 7}};
///     flotilla::cluster first{rt_0, ranks.rank(0)};   // in one thread
///     flotilla::cluster second{rt_1, ranks.rank(1)};  // in another thread

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <flotilla/cluster/transport.hpp>
#include <flotilla/detail/export.hpp>

namespace flotilla::cluster_ranks {
class loop_state;
}

namespace flotilla {
inline namespace v0_1 {
namespace testing {

/// How the messages of a `loop` arrive.
struct loop_options {
  /// 0: every message arrives at once, and events come in the order in which requests end.
  /// Otherwise messages are late by a random number of calls of the receiver's `testsome`, and
  /// events come in random order. Two messages of one sender with the same tag still match receives
  /// in the order in which they were sent, as in MPI ("non-overtaking"). If one thread calls all
  /// ranks, what happens depends only on the seed and on the calls.
  std::uint64_t seed = 0;
  /// How many calls of `testsome` a message can be late. Only with a seed.
  int max_delay = 8;
  /// A send of at most so many bytes ends at the next `testsome` of the sender. A send of more
  /// bytes ends after a `testsome` of the receiver has returned the message.
  std::size_t eager_bytes = 16 << 10;
  /// How long every message is on the way, in virtual time (see `loop::now`).
  std::chrono::nanoseconds latency{0};
  /// How fast every message moves, in virtual time. 0: infinitely fast.
  double bytes_per_second = 0;
  /// How many ranks a machine has, for `transport::local_rank` and `transport::local_ranks`: the
  /// first machine has the first ranks. 0: one machine has all ranks.
  int local_ranks = 0;
};

/// What ranks of a `loop` have sent.
struct loop_counters {
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;
  /// What was sent to this rank and not received when the rank closed its transport.
  std::uint64_t messages_lost = 0;
};

/// Ranks of one process that exchange messages. A copy is the same set of ranks, which exists until
/// the last copy has been destroyed and all transports have been closed.
///
/// Errors   A rank that is not from 0 to ranks - 1 makes every function throw invalid_argument.
/// Threads  any, at any time. Different ranks may use their transports at the same time.
class FLOTILLA_EXPORT loop {
 public:
  /// @throws invalid_argument  `ranks` is less than 1, or an option is out of range.
  explicit loop(int ranks, loop_options const& options = {});

  /// Returns the transport of a rank, once. Its `threads` is `serialized`: a test may change it.
  ///
  /// `close` does not wait. It gives up the sends of the rank that are still open. A later send to
  /// the rank is lost; if it has more than eager_bytes, it ends with an error.
  /// @throws invalid_argument  This rank's transport was returned before.
  [[nodiscard]] transport rank(int rank);

  /// Lets the process of a rank fail, as in MPI with ULFM. From now on every function of its
  /// transport returns an error. What it has sent still arrives, except messages of more than
  /// eager_bytes. Sends to it, and receives from it that nothing arrives for, end with an error;
  /// those that were open before do so after at most max_delay calls of `testsome`. Receives from
  /// any_source go on.
  void kill(int rank);
  /// Lets the next calls of `isend` and `irecv` of a rank return an error, without other effects.
  /// This replaces an earlier number of calls.
  /// @throws invalid_argument  `calls` is negative.
  void refuse_next(int rank, int calls);
  /// Lets messages from one rank to another wait, if they have not arrived yet.
  void hold(int from, int to);
  /// Lets them arrive. Those with a delay wait for the rest of it.
  void release(int from, int to);

  /// Returns the virtual time of a rank. It begins at 0. A message that is sent at the time `t` of
  /// the sender arrives at `t` + latency + bytes / bytes_per_second. When `testsome` returns the
  /// message, the time of the receiver becomes at least this. Nothing else takes virtual time:
  /// messages do not slow each other down.
  [[nodiscard]] std::chrono::nanoseconds now(int rank) const;
  /// Lets a rank compute for some virtual time.
  /// @throws invalid_argument  `time` is negative.
  void advance(int rank, std::chrono::nanoseconds time);

  /// Returns the sums over all ranks.
  [[nodiscard]] loop_counters counters() const;
  [[nodiscard]] loop_counters counters(int rank) const;
  /// Returns how many bytes were most on the way at the same time: a message is on the way until
  /// the receiver's `testsome` returns it.
  [[nodiscard]] std::uint64_t max_bytes_in_flight() const;

 private:
  std::shared_ptr<cluster_ranks::loop_state> state_;
};

}  // namespace testing
}  // namespace v0_1
}  // namespace flotilla
