// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Factorizes a symmetric positive definite matrix on all devices, with --mpi on those of all ranks,
// and checks the factor.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "../team/run_over_mpi.hpp"
#include "backward_error.hpp"
#include "comparison.hpp"
#include "cuda_libraries.hpp"
#include "factor_file.hpp"
#include "factorize.hpp"
#include "matrix_source.hpp"
#include "mg_comparison.hpp"
#include "mixed_operations.hpp"
#include "options.hpp"
#include "own_kernels.hpp"
#include "random_entry.hpp"
#include "tile_matrix.hpp"

namespace {

using namespace cholesky;

using seconds = std::chrono::duration<double>;

std::unique_ptr<matrix_source> open_source(options const& chosen) {
  if (!chosen.matrix_file.empty()) { return read_matrix_market(chosen.matrix_file); }
  if (!chosen.points_file.empty()) { return make_covariance(chosen.points_file, chosen.length); }
  return make_random(chosen.size);
}

std::size_t tile_side(options const& chosen, std::size_t size) {
  if (chosen.tile != 0) { return chosen.tile; }
  return size >= 16384 ? 2048 : size >= 4096 ? 512 : std::max<std::size_t>(16, size / 8);
}

/// Returns the operations that the options name, or those that suit all devices and the tiles.
template <class T>
std::unique_ptr<tile_operations<T>> make_operations(options const& chosen,
                                                    samples::team const& team, flotilla::flow& flow,
                                                    std::size_t side, std::string& name) {
  flotilla::runtime& rt = team.runtime();
  constexpr std::size_t small_tile = 512;
  name = chosen.operations;
  if (name == "auto") {
    int const has_libraries =
        rt.devices()[0].kind == flotilla::device_kind::gpu && why_no_cuda_libraries().empty();
    std::vector<int> const all = team.values_of_all(has_libraries);
    name = std::count(all.begin(), all.end(), 0) != 0 ? "own"
           : side <= small_tile                       ? "mixed"
                                                      : "cuda";
  }
  if (name == "own") { return std::make_unique<own_kernels<T>>(rt, flow); }
  auto libraries = make_cuda_libraries<T>(rt, flow);
  if (name == "cuda") { return libraries; }
  return std::make_unique<mixed_operations<T>>(std::move(libraries),
                                               std::make_unique<own_kernels<T>>(rt, flow));
}

double gflops(std::size_t size, seconds took) {
  auto const n = static_cast<double>(size);
  return n * n * n / 3 / took.count() / 1e9;
}

/// Returns how many columns of tiles a panel has, so that it fits into the memory of the flow.
template <class T>
std::size_t panel_width(options const& chosen, tile_matrix<T> const& a, std::size_t devices) {
  if (chosen.panel != 0) { return chosen.panel; }
  std::size_t const column = a.bytes() / a.count() * 2;  // the first ones are the longest
  std::size_t const room = chosen.memory_limit / 8 * 5;
  if (room / column >= a.count() / devices + 1) { return a.count(); }
  return std::max<std::size_t>(1, room / column * devices);
}

/// Gives the tiles the entries of the matrix, on the host or on the devices.
template <class T>
void fill(samples::team const& team, flotilla::flow& flow, tile_matrix<T>& a,
          matrix_source const& from, bool on_devices) {
  for (std::size_t i = 0; i < a.count(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      flow.post(uses(write(a.at(i, j))),
                flotilla::host_task(
                    [&from, row = a.first(i), column = a.first(j)](flotilla::view<T, 2> to) {
                      for (std::size_t c = 0; c < to.extents[0]; ++c) {
                        for (std::size_t r = 0; r < to.extents[1]; ++r) {
                          to(c, r) = static_cast<T>(from.entry(row + r, column + c));
                        }
                      }
                    }));
      if (on_devices && a.home(j).rank == team.rank()) { a.at(i, j).prefetch_to(a.home(j).device); }
    }
  }
  team.wait_idle();
}

template <class T>
void compare_with_cusolver(flotilla::runtime& rt, options const& chosen, std::size_t size) {
  flotilla::program const kernels = rt.load(cholesky_kernels);
  flotilla::device_buffer<T> matrix{rt, flotilla::device_ordinal{0}, size * size};
  auto const rows = static_cast<unsigned>(size);
  for (unsigned i = 0; i <= chosen.repeat; ++i) {
    auto const shape = [&](auto const& kernel) {
      return kernel.with_shape({(rows + 255) / 256, rows}, {256})(matrix, rows);
    };
    if constexpr (std::is_same_v<T, double>) {
      rt.submit(shape(kernels.kernel(cholesky_kernels.fill_f64))).wait();
    } else {
      rt.submit(shape(kernels.kernel(cholesky_kernels.fill_f32))).wait();
    }
    seconds const took = factor_with_cusolver(rt, matrix, size);
    std::printf("cusolverDnXpotrf%s: %.4f s, %.0f GFLOP/s\n", i == 0 ? " (warm-up)" : "",
                took.count(), gflops(size, took));
  }
}

template <class T>
void compare_with_cusolver_mg(flotilla::runtime& rt, options const& chosen, std::size_t size) {
  auto const times = factor_with_cusolver_mg<T>(rt, size, chosen.mg_block, chosen.repeat + 1);
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::printf("cusolverMgPotrf, blocks of %zu columns%s: %.4f s, %.0f GFLOP/s\n", chosen.mg_block,
                i == 0 ? " (warm-up)" : "", times[i].count(), gflops(size, times[i]));
  }
}

/// Needs tiles that divide the matrix.
template <class T>
void compare_by_hand(flotilla::runtime& rt, options const& chosen, std::size_t size,
                     std::size_t side) {
  if (size % side != 0) { return; }
  std::size_t const count = size / side;
  std::vector<T> on_host;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      for (std::size_t c = 0; c < side; ++c) {
        for (std::size_t r = 0; r < side; ++r) {
          on_host.push_back(static_cast<T>(random_entry(i * side + r, j * side + c, size)));
        }
      }
    }
  }
  flotilla::device_buffer<T> tiles{rt, flotilla::device_ordinal{0}, on_host.size()};
  for (unsigned i = 0; i <= chosen.repeat; ++i) {
    rt.submit(tiles.copy_from(std::span{on_host})).wait();
    seconds const took = factor_by_hand(rt, tiles, side, count);
    std::printf("streams and events by hand%s: %.4f s, %.0f GFLOP/s\n", i == 0 ? " (warm-up)" : "",
                took.count(), gflops(size, took));
  }
}

/// Prints what was copied to and from the devices of this rank.
void report_copies(samples::team const& team, flotilla::flow const& flow) {
  for (flotilla::device const& each : team.runtime().devices()) {
    flotilla::flow_counters const seen = flow.counters(each.ordinal);
    std::printf(
        "%sdevice %u: %.0f MB from the host, %.0f MB from devices, %.0f MB to the host, "
        "%llu evictions\n",
        team.rank_text().c_str(), each.ordinal.value,
        static_cast<double>(seen.bytes_from_host) / 1e6,
        static_cast<double>(seen.bytes_from_devices) / 1e6,
        static_cast<double>(seen.bytes_to_host) / 1e6,
        static_cast<unsigned long long>(seen.evictions));
  }
}

void check_comparisons(options const& chosen, samples::team const& team) {
  if ((chosen.compares || chosen.compares_mg) && team.ranks() > 1) {
    throw std::runtime_error(std::string{chosen.compares ? "--compare" : "--compare-mg"} +
                             ": it measures one rank, but --mpi has found " +
                             std::to_string(team.ranks()));
  }
}

/// Every rank calls this function, and submits all tasks. Rank 0 prints.
/// @param source  Must outlive the runtime: after an exception, host tasks may still read it.
template <class T>
int run(options const& chosen, matrix_source const& source, samples::team const& team) {
  check_comparisons(chosen, team);
  std::size_t const size = source.size();
  std::vector<samples::place> const devices = team.places();
  flotilla::runtime& rt = team.runtime();
  flotilla::flow flow = team.make_flow({.memory_limit = chosen.memory_limit});
  std::size_t const side = tile_side(chosen, size);
  std::string operations_name;
  auto const operations = make_operations<T>(chosen, team, flow, side, operations_name);
  int result = 0;
  {
    tile_matrix<T> a{flow, size, side, devices};
    std::size_t const panel = panel_width(chosen, a, devices.size());
    if (team.is_first()) {
      std::printf(
          "%zu x %zu, %s, tiles of %zu, panels of %zu tiles, %s%zu device%s, operations: %s, data "
          "on the %s\n",
          size, size, chosen.type.c_str(), side, panel, team.ranks_text().c_str(), devices.size(),
          devices.size() == 1 ? "" : "s", operations_name.c_str(), chosen.start.c_str());
    }
    std::vector<flotilla::data<int>> infos;
    for (std::size_t k = 0; k < a.count(); ++k) {
      infos.emplace_back(flow, std::array<std::size_t, 1>{1}, "info");
    }
    for (unsigned i = 0; i < chosen.repeat; ++i) {
      fill(team, flow, a, source, chosen.start == "device");
      auto const begin = std::chrono::steady_clock::now();
      factorize(*operations, a, infos, panel);
      seconds const submitted = std::chrono::steady_clock::now() - begin;
      team.wait_idle();
      seconds const took = std::chrono::steady_clock::now() - begin;
      int const status = team.on_first([&] {
        if (auto const minor = first_bad_minor(a, infos)) {
          std::fprintf(stderr,
                       "the matrix is not positive definite: its leading minor of order %zu is not "
                       "positive\n",
                       *minor);
          return wrong;
        }
        std::printf("%.4f s (%.4f s to submit), %.0f GFLOP/s\n", took.count(), submitted.count(),
                    gflops(size, took));
        return 0;
      });
      if (status != 0) { return status; }
    }
    report_copies(team, flow);
    if (chosen.checks) {
      double const error = backward_error(team, flow, a, source);
      if (team.is_first()) {
        std::printf("backward error: %.3g (in units of epsilon x %zu)\n", error, size);
      }
      if (!(error < 1)) {
        std::fprintf(stderr, "the factor is wrong\n");
        result = wrong;
      }
    }
    if (!chosen.output.empty()) { write_factor(team, a, chosen.output); }
    rt.wait_idle();
  }
  if (chosen.compares) {
    compare_with_cusolver<T>(rt, chosen, size);
    compare_by_hand<T>(rt, chosen, size, side);
  }
  if (chosen.compares_mg) { compare_with_cusolver_mg<T>(rt, chosen, size); }
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  command_line const line = parse(count, arguments);
  if (line.exit_status >= 0) { return line.exit_status; }
  options const& chosen = line.chosen;
  try {
    std::unique_ptr<matrix_source> const source = open_source(chosen);
    auto const program = [&](samples::team const& team) {
      return chosen.type == "f64" ? run<double>(chosen, *source, team)
                                  : run<float>(chosen, *source, team);
    };
    if (chosen.uses_mpi) {
      return samples::run_over_mpi("cholesky", chosen.devices, program, not_done);
    }
    flotilla::runtime rt{{.devices = chosen.devices}};
    return program(samples::team{rt});
  } catch (std::exception const& why) {
    std::fprintf(stderr, "cholesky: %s\n", why.what());
    return not_done;
  }
}
