// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Flows over several processes, which exchange messages by MPI.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include <flotilla/cluster/transport.hpp>
#include <flotilla/detail/export.hpp>

namespace flotilla::cluster_ranks {
class cluster_state;
}

namespace flotilla {
inline namespace v0_1 {

class runtime;
class cluster;

namespace detail {
/// Gives the library access to a cluster. src/api/cluster.cpp defines it.
struct cluster_access;
/// Waits as the destructor of a cluster does, but interruptible_waits can end this wait. For
/// bindings of other languages. @throws the exceptions of cluster::finish, error
FLOTILLA_EXPORT void wait_for_end(cluster& which);
}  // namespace detail

/// What a rank has sent and received.
struct cluster_counters {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t transfers_sent = 0;  // copies of data; a message can hold many
  std::uint64_t transfers_received = 0;
  std::uint64_t bytes_sent = 0;  // of data
  std::uint64_t bytes_received = 0;
};

/// The ranks of a program that runs as several processes. Flows that are made with a cluster run
/// over all ranks: every rank submits the same tasks, each task runs on one rank, and data move
/// between the ranks as tasks need them.
///
///     MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
///     flotilla::runtime rt;
///     flotilla::cluster all{rt, flotilla::mpi(MPI_COMM_WORLD)};  // <flotilla/mpi.hpp>
///     flotilla::flow flow{all};
///
/// Placement    A task runs on the first of these ranks that applies: task_options::rank; the owner
///              of the first data that the task writes, updates or commutes on; the owner of the
///              first data that it reads; the owner of the first data that it reduces; rank 0.
/// Program      Every rank must make the same flows, data and tiles, and submit the same tasks, in
///              the same order. A rank may leave out a task only if it never takes part in data of
///              the task: it neither owns nor uses them, or the data that they are tiles of, and
///              calls neither `set_owner` nor `collect` for them. Ranks that find a difference
///              throw rank_failed, which names the data, the task and the ranks. Not every
///              difference can be found.
/// Progress     Threads that wait, pump or work for the runtime send and receive. A thread of the
///              cluster steps in, after some pauses, if nobody does (not with
///              transport_threads::main_only: then only the thread that has made the cluster may
///              wait for its tasks, and end it). The transport is used from one thread at a time.
///              Operations of reductions that come from other ranks run on these threads, too.
/// Failures     A task that fails makes tasks of other ranks fail that need its results, with
///              dependency_failed. `run` tells the other ranks about an exception, and a destructor
///              that runs because of an exception does so too, without its text. So does a submit
///              that throws something else than an error that all ranks find in its arguments,
///              because the other ranks go on as if it had succeeded. Then, and if a
///              rank ends too early or the transport fails, every task of a flow that waits for
///              another rank fails, and tickets and later calls throw rank_failed.
/// Lifetime     Must outlive its flows and data, and must end before its runtime does and before
///              MPI_Finalize. The destructor waits until all ranks have ended their clusters.
/// Threads      any, but see `Program`. All tasks of a runtime share windows. So several threads
///              that submit to flows of one cluster must not have more tasks open together than a
///              window has places: each of them could wait for a task that the other one cannot
///              submit.
class FLOTILLA_EXPORT cluster {
 public:
  /// Collective. Takes over the transport, and closes it even if the call throws.
  /// @throws invalid_argument  The table of the transport is incomplete, or a launcher has started
  ///                           more processes than the transport sees, because it belongs to
  ///                           another MPI.
  cluster(runtime& owner, transport const& via);
  cluster(cluster&&) noexcept = default;
  cluster& operator=(cluster&&) = delete;
  ~cluster();

  /// Returns the number of this rank, from 0. @throws invalid_argument  The cluster was moved from.
  [[nodiscard]] int rank() const;
  /// Returns how many ranks there are. @throws invalid_argument  The cluster was moved from.
  [[nodiscard]] int ranks() const;

  /// Calls `function` while the cluster does not use the transport. `function` must not call
  /// functions of this cluster, and must not wait for its tasks. Without
  /// transport_threads::multiple, the application's own calls of MPI must be in such a function.
  /// Meanwhile this rank neither sends nor receives for flows. So if `function` blocks until other
  /// ranks do something, such as MPI_Allreduce, all ranks must call `wait_idle` before: another
  /// rank may need a message of this one to get there.
  template <std::invocable F>
  decltype(auto) exclusive(F&& function) {
    exclusion const held{*this};
    return std::invoke(std::forward<F>(function));
  }
  /// Calls `function`, usually the whole part of a program that uses the cluster. If it throws, the
  /// other ranks learn the text of the exception, and their waits throw rank_failed.
  template <std::invocable F>
  decltype(auto) run(F&& function) {
    try {
      return std::invoke(std::forward<F>(function));
    } catch (std::exception const& error) {
      fail(error.what());
      throw;
    } catch (...) {
      fail("an exception that is no std::exception");
      throw;
    }
  }
  /// Tells the other ranks that this one has failed. Their waits throw rank_failed with this text.
  void fail(std::string_view why) noexcept;
  /// Collective: waits until all tasks of this rank's runtime have ended, and until all ranks have
  /// called this function. Then no message of a flow is on the way.
  /// @throws rank_failed, would_deadlock
  void wait_idle();
  /// Says that this rank submits no more tasks to flows of this cluster; they are refused from now
  /// on. The destructor calls it. Waits for the tasks that were submitted, which may need other
  /// ranks, but not until the other ranks call it. @throws rank_failed, would_deadlock
  void finish();
  /// Returns what this rank has sent and received so far. Threads: any.
  [[nodiscard]] cluster_counters counters() const;

 private:
  friend struct detail::cluster_access;
  class FLOTILLA_EXPORT exclusion {
   public:
    explicit exclusion(cluster const& of);
    ~exclusion();
    exclusion(exclusion const&) = delete;
    exclusion& operator=(exclusion const&) = delete;

   private:
    cluster_ranks::cluster_state& of_;
  };

  std::shared_ptr<cluster_ranks::cluster_state> state_;
  int exceptions_ = 0;  // that were uncaught when the cluster was made
};

}  // namespace v0_1
}  // namespace flotilla
