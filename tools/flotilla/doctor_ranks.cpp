// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor_ranks.hpp"

#include <cstddef>
#include <string>

namespace tool {
namespace {

using grades = finding::grades;

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
