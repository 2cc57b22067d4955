// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor_ranks.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>

namespace tool {
namespace {

using grades = finding::grades;

/// The variables in which a launcher tells a process what it is.
struct variables {
  char const* launcher;
  char const* rank;
  char const* ranks;
  char const* local_rank;
  char const* local_ranks;
};
// In this order: jobs of Slurm may contain the mpirun of an MPI, and its variables count.
constexpr variables known[]{
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPICH or another MPI with PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"PALS", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_TASKS_PER_NODE"},
};

/// Returns the number with which the variable begins: Slurm writes "4(x2)" for four ranks on each
/// of two machines.
std::optional<int> number(surroundings const& around, char const* name) {
  std::string const text = around.variable(name);
  int found = 0;
  auto const read = std::from_chars(text.data(), text.data() + text.size(), found);
  return read.ec == std::errc{} && found >= 0 ? std::optional{found} : std::nullopt;
}

/// Returns the number of the first launcher that tells it.
int first_number(surroundings const& around, char const* variables::*which, int otherwise) {
  for (variables const& each : known) {
    if (auto const found = number(around, each.*which)) { return *found; }
  }
  return otherwise;
}

void examine_processors(findings& into, surroundings const& around, launch const& how) {
  int const mine = around.processors;
  bool const leaves_some = how.ranks > 1 && mine * how.local_ranks < around.all_processors;
  std::string const text =
      std::to_string(mine) + " for this process" +
      (mine < around.all_processors ? ", of " + std::to_string(around.all_processors)
                                    : std::string{});
  if (leaves_some) {
    into.push_back(
        {mine < 2 ? grades::warning : grades::note, "processors", text,
         "the launcher has bound this rank to them, and the ranks of this machine leave others "
         "unused: pass --bind-to none to Open MPI's mpirun, or --cpus-per-task=" +
             std::to_string(around.all_processors / how.local_ranks) + " to srun"});
    return;
  }
  into.push_back({mine < 2 ? grades::warning : grades::ok, "processors", text,
                  mine < 2 ? "with one processor, threads that spin leave no time for workers: set "
                             "schedule=yield or schedule=blocking"
                           : ""});
}

void examine_gpus(findings& into, surroundings const& around, launch const& how) {
  if (around.gpus.empty()) { return; }
  std::string list;
  for (std::string const& each : around.gpus) { list += (list.empty() ? "" : ", ") + each; }
  bool const sees_several = how.local_ranks > 1 && around.gpus.size() > 1;
  into.push_back(
      {sees_several ? grades::note : grades::ok, "GPUs of the rank", list,
       sees_several
           ? "the other ranks of this machine may see the same GPUs: start one rank for "
             "each machine, or divide the GPUs in the program with flotilla::share_devices, or "
             "give each rank its own, for example with FLOTILLA_DEVICES=cuda:" +
                 std::to_string(static_cast<std::size_t>(how.local_rank) % around.gpus.size()) +
                 " for this one"
           : ""});
}

}  // namespace

launch find_launch(surroundings const& around) {
  launch made;
  made.local_ranks = std::max(1, first_number(around, &variables::local_ranks, 1));
  made.local_rank = first_number(around, &variables::local_rank, 0);
  made.ranks = std::max(1, first_number(around, &variables::ranks, 1));
  made.rank = first_number(around, &variables::rank, 0);
  auto const has_started = [&](variables const& each) { return number(around, each.rank); };
  auto const* const by = std::find_if(std::begin(known), std::end(known), has_started);
  if (by != std::end(known)) { made.launcher = by->launcher; }
  return made;
}

void examine_rank(findings& into, surroundings const& around, launch const& how) {
  if (how.ranks > 1) {
    into.push_back({grades::ok, "rank",
                    std::to_string(how.rank) + " of " + std::to_string(how.ranks) + ", number " +
                        std::to_string(how.local_rank) + " of " + std::to_string(how.local_ranks) +
                        " on this machine" +
                        (how.launcher.empty() ? "" : ", started by " + how.launcher),
                    ""});
  }
  examine_processors(into, around, how);
  if (how.ranks > 1) { examine_gpus(into, around, how); }
}

}  // namespace tool
