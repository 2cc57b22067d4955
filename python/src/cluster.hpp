// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Clusters: the ranks of a program that runs as several processes.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <string>

#include <flotilla/cluster/cluster.hpp>

#include "core.hpp"
#include "scopes.hpp"

namespace flotilla::python {

/// Owns a C++ cluster. The Python object and the flows of the cluster share it.
///
/// The end of a cluster waits for the other ranks, which may come to their end only when this rank
/// goes on. So it is never the work of the garbage collector: a cluster is open until `close`, or
/// until its runtime is closed. All open clusters are in a list, which keeps them.
///
/// Threads: the caller of each function must hold the GIL. It guards all members.
class cluster_core final : public std::enable_shared_from_this<cluster_core> {
 public:
  /// Collective. Use `open_cluster`.
  cluster_core(core_ptr owner, nb::handle communicator);
  cluster_core(cluster_core const&) = delete;
  cluster_core& operator=(cluster_core const&) = delete;

  [[nodiscard]] core_ptr const& owner() const noexcept { return owner_; }
  /// @throws runtime_closed, invalid_handle  The runtime or the cluster is closed.
  void check_open() const;
  /// Calls `function` with the C++ cluster, without the GIL. `close` waits until it has returned.
  template <class F>
  auto without_gil(F const& function) {
    check_open();
    busy_call const busy{calls_};
    return owner_->without_gil([&] { return function(*held_); });
  }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }

  /// Tells the other ranks that this one has failed. After the end, it does nothing.
  void fail(std::string const& why) noexcept;
  /// Collective. Refuses new tasks, waits for the tasks of the runtime and for the other ranks, and
  /// ends the cluster. If the wait is interrupted, the next call goes on. After that, a call does
  /// nothing.
  /// @throws would_deadlock, used_after_fork  Nothing was closed.
  void close();
  /// Leaves the C++ cluster until the process ends, which is before MPI_Finalize.
  void abandon() noexcept;

 private:
  core_ptr const owner_;
  std::unique_ptr<cluster> held_;  // null after the end
  int rank_ = 0;
  int ranks_ = 1;
  bool is_closed_ = false;
  bool is_closing_ = false;  // whether a thread is inside `close`
  std::size_t calls_ = 0;    // threads that are inside `without_gil`
};

/// Makes a cluster over a communicator of mpi4py. Collective.
[[nodiscard]] std::shared_ptr<cluster_core> open_cluster(core_ptr owner, nb::handle communicator);

/// Closes the open clusters of a runtime, in the order in which they were made: all ranks must end
/// them in the same order. @throws the exceptions of cluster_core::close
void close_clusters(runtime_core const& of);
/// Calls cluster_core::fail for the open clusters of a runtime. @param of  Null: of all runtimes.
void fail_clusters(runtime_core const* of, std::string const& why) noexcept;
/// Calls cluster_core::abandon for the open clusters of a runtime.
void abandon_clusters(runtime_core const& of) noexcept;

/// The Python object of a cluster.
struct py_cluster {
  std::shared_ptr<cluster_core> core;
};

void bind_clusters(nb::module_& to);

}  // namespace flotilla::python
