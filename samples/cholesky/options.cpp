// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <CLI/CLI.hpp>

namespace cholesky {

command_line parse(int count, char** arguments) {
  command_line made;
  options& chosen = made.chosen;
  CLI::App app{"Factorizes a symmetric positive definite matrix on all devices."};
  auto* const size = app.add_option("--size", chosen.size, "Rows of a random matrix")
                         ->check(CLI::Range(1, 1 << 20));
  auto* const file = app.add_option("--matrix", chosen.matrix_file, "A Matrix Market file");
  auto* const points =
      app.add_option("--points", chosen.points_file, "A CSV file: take the points' covariance");
  size->excludes(file)->excludes(points);
  file->excludes(points);
  app.add_option("--length", chosen.length, "The length of the covariance")
      ->check(CLI::PositiveNumber);
  app.add_option("--tile", chosen.tile, "Rows of a tile")->check(CLI::Range(1, 1 << 16));
  app.add_option("--panel", chosen.panel, "Tiles in a panel")->check(CLI::Range(1, 1 << 16));
  app.add_option("--type", chosen.type, "f64 or f32")->check(CLI::IsMember({"f64", "f32"}));
  app.add_option("--operations", chosen.operations, "auto, own, cuda or mixed")
      ->check(CLI::IsMember({"auto", "own", "cuda", "mixed"}));
  app.add_option("--start", chosen.start, "Where the matrix is at the start: host or device")
      ->check(CLI::IsMember({"host", "device"}));
  app.add_option("--devices", chosen.devices, "Devices, as in FLOTILLA_DEVICES");
  app.add_option("--memory-limit", chosen.memory_limit, "Bytes of memory on each device")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--repeat", chosen.repeat, "Number of runs")->check(CLI::Range(1, 1000));
  app.add_option("--output", chosen.output, "A Matrix Market file for the factor");
  app.add_flag("--mpi", chosen.uses_mpi, "Compute over the ranks of an MPI program (mpirun)");
  app.add_flag("--compare", chosen.compares, "Also factorize a random matrix without flows");
  app.add_flag("--compare-mg", chosen.compares_mg, "Also on all GPUs with cusolverMgPotrf");
  app.add_option("--mg-block", chosen.mg_block, "Columns of a block of cusolverMgPotrf")
      ->check(CLI::Range(1, 1 << 16));
  app.add_flag("!--no-check", chosen.checks, "Do not compute the backward error");
  try {
    app.parse(count, arguments);
  } catch (CLI::ParseError const& why) { made.exit_status = app.exit(why) == 0 ? 0 : not_done; }
  return made;
}

}  // namespace cholesky
