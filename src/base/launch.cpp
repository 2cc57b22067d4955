// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "base/launch.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace flotilla::base {

namespace {

constexpr launch_variables known[]{
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPICH or another MPI with PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"PALS", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},
    // The number of tasks of a step, because the script of a job is no rank.
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_TASKS_PER_NODE"},
};

/// Returns the number with which a text begins: Slurm writes "4(x2)" for four ranks on each of two
/// machines.
[[nodiscard]] std::optional<int> number_in(std::string const& text) {
  int found = 0;
  auto const read = std::from_chars(text.data(), text.data() + text.size(), found);
  return read.ec == std::errc{} && found >= 0 ? std::optional{found} : std::nullopt;
}

}  // namespace

std::span<launch_variables const> known_launchers() noexcept { return known; }

launch find_launch(std::function<std::string(char const*)> const& variable) {
  auto const first = [&](char const* launch_variables::*which, int otherwise) {
    for (launch_variables const& each : known) {
      if (auto const found = number_in(variable(each.*which))) { return *found; }
    }
    return otherwise;
  };
  launch made;
  made.local_ranks = std::max(1, first(&launch_variables::local_ranks, 1));
  made.local_rank = first(&launch_variables::local_rank, 0);
  made.ranks = std::max(1, first(&launch_variables::ranks, 1));
  made.rank = first(&launch_variables::rank, 0);
  for (launch_variables const& each : known) {
    if (!number_in(variable(each.rank))) { continue; }
    made.launcher = each.launcher;
    break;
  }
  return made;
}

launch find_launch() {
  return find_launch([](char const* name) {
    char const* const text = std::getenv(name);
    return std::string{text == nullptr ? "" : text};
  });
}

}  // namespace flotilla::base
