// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Factorizes a symmetric positive definite matrix on all devices, and checks the factor.

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <flotilla/flotilla.hpp>

#include "backward_error.hpp"
#include "comparison.hpp"
#include "cuda_libraries.hpp"
#include "factorize.hpp"
#include "matrix_source.hpp"
#include "mg_comparison.hpp"
#include "mixed_operations.hpp"
#include "own_kernels.hpp"
#include "random_entry.hpp"
#include "tile_matrix.hpp"

namespace {

using namespace cholesky;

// Exit codes other than 0 (README.md describes them).
constexpr int wrong = 1;
constexpr int not_done = 2;

struct options {
  std::size_t size = 1024;
  std::string matrix_file, points_file;
  double length = 1;
  std::size_t tile = 0;  // 0: chosen from the size of the matrix
  std::size_t panel = 0;
  std::string type = "f64", operations = "auto", start = "host", devices;
  std::size_t memory_limit = std::numeric_limits<std::size_t>::max();
  unsigned repeat = 1;
  bool compares = false, compares_mg = false, checks = true;
  std::size_t mg_block = 512;
};

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

/// Returns the operations that the options name, or those that suit the device and the tiles.
template <class T>
std::unique_ptr<tile_operations<T>> make_operations(options const& chosen, flotilla::runtime& rt,
                                                    flotilla::flow& flow, std::size_t side,
                                                    std::string& name) {
  constexpr std::size_t small_tile = 512;
  name = chosen.operations;
  if (name == "auto") {
    bool const has_libraries =
        rt.devices()[0].kind == flotilla::device_kind::gpu && why_no_cuda_libraries().empty();
    name = !has_libraries ? "own" : side <= small_tile ? "mixed" : "cuda";
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
void fill(flotilla::runtime& rt, flotilla::flow& flow, tile_matrix<T>& a, matrix_source const& from,
          bool on_devices) {
  for (std::size_t i = 0; i < a.count(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      flow.post_host(uses(write(a.at(i, j))),
                     [&from, row = a.first(i), column = a.first(j)](flotilla::view<T, 2> to) {
                       for (std::size_t c = 0; c < to.extents[0]; ++c) {
                         for (std::size_t r = 0; r < to.extents[1]; ++r) {
                           to(c, r) = static_cast<T>(from.entry(row + r, column + c));
                         }
                       }
                     });
      if (on_devices) {
        a.at(i, j).prefetch_to(
            flotilla::device_ordinal{static_cast<unsigned>(j % rt.devices().size())});
      }
    }
  }
  rt.wait_idle();
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

template <class T>
int run(options const& chosen) {
  std::unique_ptr<matrix_source> const source = open_source(chosen);
  std::size_t const size = source->size();
  flotilla::runtime rt{{.devices = chosen.devices}};
  flotilla::flow flow{rt, {.memory_limit = chosen.memory_limit}};
  std::size_t const side = tile_side(chosen, size);
  std::string operations_name;
  auto const operations = make_operations<T>(chosen, rt, flow, side, operations_name);
  auto const devices = static_cast<unsigned>(rt.devices().size());
  int result = 0;
  {
    tile_matrix<T> a{rt, flow, size, side};
    schedule const how{devices, panel_width(chosen, a, devices)};
    std::printf(
        "%zu x %zu, %s, tiles of %zu, panels of %zu tiles, %u device%s, operations: %s, data on "
        "the "
        "%s\n",
        size, size, chosen.type.c_str(), side, how.panel, devices, devices == 1 ? "" : "s",
        operations_name.c_str(), chosen.start.c_str());
    std::vector<flotilla::data<int>> infos;
    for (std::size_t k = 0; k < a.count(); ++k) {
      infos.emplace_back(flow, std::array<std::size_t, 1>{1}, "info");
    }
    for (unsigned i = 0; i < chosen.repeat; ++i) {
      fill(rt, flow, a, *source, chosen.start == "device");
      auto const begin = std::chrono::steady_clock::now();
      factorize(*operations, a, infos, how);
      seconds const submitted = std::chrono::steady_clock::now() - begin;
      rt.wait_idle();
      seconds const took = std::chrono::steady_clock::now() - begin;
      if (auto const minor = first_bad_minor(a, infos)) {
        std::fprintf(stderr,
                     "the matrix is not positive definite: its leading minor of order %zu is not "
                     "positive\n",
                     *minor);
        return wrong;
      }
      std::printf("%.4f s (%.4f s to submit), %.0f GFLOP/s\n", took.count(), submitted.count(),
                  gflops(size, took));
    }
    for (flotilla::device const& each : rt.devices()) {
      flotilla::flow_counters const seen = flow.counters(each.ordinal);
      std::printf(
          "device %u: %.0f MB from the host, %.0f MB from devices, %.0f MB to the host, "
          "%llu evictions\n",
          each.ordinal.value, static_cast<double>(seen.bytes_from_host) / 1e6,
          static_cast<double>(seen.bytes_from_devices) / 1e6,
          static_cast<double>(seen.bytes_to_host) / 1e6,
          static_cast<unsigned long long>(seen.evictions));
    }
    if (chosen.checks) {
      double const error = backward_error(flow, a, *source);
      std::printf("backward error: %.3g (in units of epsilon x %zu)\n", error, size);
      if (!(error < 1)) {
        std::fprintf(stderr, "the factor is wrong\n");
        result = wrong;
      }
    }
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
  options chosen;
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
  app.add_flag("--compare", chosen.compares, "Also factorize a random matrix without flows");
  app.add_flag("--compare-mg", chosen.compares_mg, "Also on all GPUs with cusolverMgPotrf");
  app.add_option("--mg-block", chosen.mg_block, "Columns of a block of cusolverMgPotrf")
      ->check(CLI::Range(1, 1 << 16));
  app.add_flag("!--no-check", chosen.checks, "Do not compute the backward error");
  try {
    app.parse(count, arguments);
  } catch (CLI::ParseError const& why) { return app.exit(why) == 0 ? 0 : not_done; }
  try {
    return chosen.type == "f64" ? run<double>(chosen) : run<float>(chosen);
  } catch (std::exception const& why) {
    std::fprintf(stderr, "cholesky: %s\n", why.what());
    return not_done;
  }
}
