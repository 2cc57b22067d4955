// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Clusters over MPI. Optional: <flotilla/flotilla.hpp> does not include this header, which needs
/// the mpi.h of the application's MPI (3.0 or later). The library itself contains no MPI, so one
/// binary of flotilla serves every MPI.

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <flotilla/cluster/cluster.hpp>
#include <flotilla/cluster/share_devices.hpp>
#include <flotilla/cluster/transport.hpp>
#include <flotilla/detail/mpi_link.hpp>
#include <flotilla/detail/mpi_machine.hpp>
#include <flotilla/error/error.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace detail {

/// Returns which threads may call MPI.
/// @throws invalid_argument  No cluster can use the communicator.
inline transport_threads check_communicator(MPI_Comm communicator) {
  int yes = 0;
  MPI_Initialized(&yes);
  if (!yes) {
    throw invalid_argument(
        "mpi: MPI is not initialized. Call MPI_Init_thread with at least MPI_THREAD_FUNNELED "
        "first");
  }
  MPI_Finalized(&yes);
  if (yes) {
    throw invalid_argument(
        "mpi: MPI is finalized. A cluster must begin and end before MPI_Finalize");
  }
  if (communicator == MPI_COMM_NULL) {
    throw invalid_argument("mpi: the communicator is MPI_COMM_NULL");
  }
  check_mpi(MPI_Comm_test_inter(communicator, &yes), "MPI_Comm_test_inter");
  if (yes) {
    throw invalid_argument(
        "mpi: the communicator is an inter-communicator. MPI_Intercomm_merge makes an "
        "intra-communicator of it, which is allowed");
  }
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  if (level == MPI_THREAD_MULTIPLE) { return transport_threads::multiple; }
  if (level == MPI_THREAD_SERIALIZED) { return transport_threads::serialized; }
  if (level == MPI_THREAD_SINGLE) {
    throw invalid_argument(
        "mpi: the thread level of MPI is MPI_THREAD_SINGLE. Instead of MPI_Init, call "
        "MPI_Init_thread with at least MPI_THREAD_FUNNELED");
  }
  check_mpi(MPI_Is_thread_main(&yes), "MPI_Is_thread_main");
  if (!yes) {
    throw invalid_argument(
        "mpi: the thread level of MPI is MPI_THREAD_FUNNELED, and this is not the thread that "
        "called MPI_Init_thread. Call MPI_Init_thread with at least MPI_THREAD_SERIALIZED");
  }
  return transport_threads::main_only;
}

}  // namespace detail

/// Returns a transport for a cluster, over a duplicate of `communicator`. Collective: all ranks of
/// the communicator call it. It never calls MPI_Init or MPI_Finalize. Give the result to one
/// cluster, which closes it.
///
///     MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
///     flotilla::cluster all{rt, flotilla::mpi(MPI_COMM_WORLD)};
///
/// MPI reports errors of the duplicate to the cluster. MPICH is an exception: it passes the errors
/// of requests to the error handler of MPI_COMM_WORLD, which ends the program unless it is
/// MPI_ERRORS_RETURN.
/// @throws invalid_argument  MPI is not initialized, or is finalized. The communicator is
///                           MPI_COMM_NULL or an inter-communicator. The thread level is
///                           MPI_THREAD_SINGLE, or it is MPI_THREAD_FUNNELED and this is not the
///                           main thread.
/// @throws error             A function of MPI failed.
/// Lifetime  The duplicate exists until the transport is closed, which must be before MPI_Finalize.
///           `communicator` may be freed before.
[[nodiscard]] inline transport mpi(MPI_Comm communicator) {
  transport table;
  table.threads = detail::check_communicator(communicator);
  auto link = std::make_unique<detail::mpi_link>(communicator);
  link->fill(table);
  table.self = link.release();
  return table;
}

/// Divides the GPUs of each machine among the ranks that run there. Collective: all ranks of the
/// communicator call it, before they make their runtimes.
///
///     flotilla::runtime rt{{.devices = flotilla::share_devices(MPI_COMM_WORLD)}};
///     flotilla::cluster all{rt, flotilla::mpi(MPI_COMM_WORLD)};
///
/// Ranks compare the UUIDs of the GPUs that they see. So a rank keeps the GPUs that the launcher
/// shows only to it, and the numbers of GPUs may differ between ranks.
/// @return for runtime_options::devices, as share_devices of <flotilla/cluster/share_devices.hpp>
///         says; empty, which means the default, also if the environment variable FLOTILLA_DEVICES
///         is set for this rank, which then takes no part.
/// @throws invalid_argument  As `mpi`.
///         error             A function of MPI failed.
///         driver_error      Only on the rank whose driver refuses to describe a device. Then end
///                           all ranks, for example with MPI_Abort.
/// Threads  As MPI_Allgather, which it calls.
/// Blocks   until all ranks of the communicator have called it, and during cuInit.
[[nodiscard]] inline std::string share_devices(MPI_Comm communicator) {
  static_cast<void>(detail::check_communicator(communicator));
  std::vector<std::string> seen;
  std::exception_ptr failed;
  char const* const environment = std::getenv("FLOTILLA_DEVICES");
  bool const is_chosen = environment != nullptr && *environment != '\0';
  try {
    if (!is_chosen) { seen = detail::visible_gpus(); }
  } catch (...) { failed = std::current_exception(); }  // after the collective calls
  detail::mpi_machine const machine{communicator};
  std::vector<std::vector<std::string>> const all = machine.gather(seen);
  if (failed) { std::rethrow_exception(failed); }
  std::string const devices = share_devices(all, machine.rank());
  return is_chosen ? std::string{} : devices;
}

}  // namespace v0_1
}  // namespace flotilla
