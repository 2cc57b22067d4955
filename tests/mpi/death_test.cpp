// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The process of rank 1 dies while other ranks wait for its data. Most launchers then end all
// ranks. With fault tolerance, the others go on, and must get rank_failed within a second:
//
//   death_test [survive]
#include <flotilla/mpi.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

#include <flotilla/flotilla.hpp>

namespace {

using clock_type = std::chrono::steady_clock;

void print_done(int rank) {
  std::printf("rank %d done\n", rank);
  std::fflush(stdout);
}

/// Never returns, because it waits for rank 1 again and again.
/// @param begun  When the last wait began.
[[noreturn]] void wait_for_ranks(flotilla::cluster& all, clock_type::time_point& begun) {
  flotilla::flow flow{all};
  flotilla::data<unsigned> steps{flow, {1}, "steps"};
  flow.post(uses(write(steps)),
            flotilla::host_task([](flotilla::view<unsigned> to) { to(0) = 0; }));
  for (int step = 0;; ++step) {
    if (step == 50 && all.rank() == 1) {
      print_done(1);
      std::raise(SIGKILL);
    }
    begun = clock_type::now();
    flow.post(uses(update(steps)),
              flotilla::host_task([](flotilla::view<unsigned> to) { ++to(0); }),
              {.rank = step % all.ranks()});
    all.wait_idle();
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool const survives = argc > 1 && std::string{argv[1]} == "survive";
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  clock_type::time_point begun;
  flotilla::runtime rt{{.devices = "cpu:1"}};
  flotilla::cluster all{rt, flotilla::mpi(MPI_COMM_WORLD)};
  try {
    wait_for_ranks(all, begun);
  } catch (flotilla::rank_failed const& why) {
    auto const took = clock_type::now() - begun;
    std::printf("rank %d after %.0f ms: %s\n", rank,
                std::chrono::duration<double, std::milli>(took).count(), why.what());
    if (survives && took < std::chrono::seconds{1}) { print_done(rank); }
  }
  std::fflush(stdout);
  ::_exit(0);  // no MPI waits for a dead rank here
}
