// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "run_over_mpi.hpp"

#include <cstdio>
#include <exception>
#include <stdexcept>

#ifdef SAMPLE_WITH_MPI
#include <flotilla/mpi.hpp>
#endif

namespace samples {

#ifndef SAMPLE_WITH_MPI

int run_over_mpi(std::string const&, std::string const&, std::function<int(team const&)> const&,
                 int) {
  throw std::runtime_error("--mpi: the program was built without MPI");
}

#else

int run_over_mpi(std::string const& name, std::string const& devices,
                 std::function<int(team const&)> const& program, int not_done) {
  int provided = 0, rank = 0, result = not_done;
  bool is_connected = false;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    std::string const own = devices.empty() ? flotilla::share_devices(MPI_COMM_WORLD) : devices;
    flotilla::runtime rt{{.devices = own}};
    flotilla::cluster all{rt, flotilla::mpi(MPI_COMM_WORLD)};
    is_connected = true;
    result = all.run([&] { return program(team{rt, &all}); });
  } catch (std::exception const& why) {
    std::fprintf(stderr, "%s: rank %d: %s\n", name.c_str(), rank, why.what());
    // Without its devices, this rank never makes the cluster, and the other ranks would wait there.
    if (!is_connected) { MPI_Abort(MPI_COMM_WORLD, not_done); }
  }
  MPI_Finalize();  // after the end of the cluster
  if (result == 0) { std::printf("rank %d done\n", rank); }
  return result;
}

#endif

}  // namespace samples
