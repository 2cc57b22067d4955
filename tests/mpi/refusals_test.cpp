// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
//
// What flotilla::mpi refuses. Runs under a launcher with two or more ranks, see run_ranks.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <flotilla/mpi.hpp>

namespace {

bool failed = false;

void check(bool right, std::string const& text) {
  if (right) { return; }
  std::printf("not true: %s\n", text.c_str());
  failed = true;
}

void refuses(MPI_Comm communicator, std::string const& why) {
  std::string text = "no exception";
  try {
    (void)flotilla::mpi(communicator);
  } catch (flotilla::invalid_argument const& error) { text = error.what(); }
  check(text.find(why) != std::string::npos, "the text has '" + why + "': " + text);
}

/// The rank, before MPI is initialized.
int expected_rank() {
  for (char const* const name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (char const* const value = std::getenv(name)) { return std::atoi(value); }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  refuses(MPI_COMM_WORLD, "not initialized");

  // Even ranks have the level MPI_THREAD_SINGLE, odd ranks have MPI_THREAD_FUNNELED.
  bool const funneled = expected_rank() % 2 != 0;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, funneled ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (funneled) {
    check(provided == MPI_THREAD_FUNNELED, "MPI provides MPI_THREAD_FUNNELED");
    std::thread{[] { refuses(MPI_COMM_WORLD, "not the thread"); }}.join();
  } else {
    check(provided == MPI_THREAD_SINGLE, "MPI provides MPI_THREAD_SINGLE");
    refuses(MPI_COMM_WORLD, "MPI_THREAD_SINGLE");
  }
  refuses(MPI_COMM_NULL, "MPI_COMM_NULL");

  // Rank 0 on one side, the others on the other side.
  MPI_Comm side = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 0, &both);
  refuses(both, "inter-communicator");
  MPI_Comm_free(&both);
  MPI_Comm_free(&side);

  MPI_Finalize();
  refuses(MPI_COMM_WORLD, "finalized");
  if (failed) { return 1; }
  std::printf("rank %d done\n", rank);
}
