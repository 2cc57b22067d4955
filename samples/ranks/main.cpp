// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Computes how heat spreads in a ring of metal, on the devices of all ranks of an MPI program.
#include <flotilla/mpi.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include <flotilla/cluster/distribution.hpp>
#include <flotilla/flotilla.hpp>

#include "ranks_kernels.hpp"  // made from step.cu by flotilla_add_kernels()

namespace {

constexpr unsigned bands = 16, width = 256, steps = 500, heat = 1'000'000'000;

/// Every rank calls this function, and submits all tasks. A task runs on the rank that owns the
/// band that it writes. @return whether the heat at the end is right.
bool diffuse(flotilla::runtime& rt, flotilla::cluster& all) {
  flotilla::program const program = rt.load(ranks_kernels);
  auto const step = program.kernel(ranks_kernels.heat_step).over(width);
  auto const add = program.kernel(ranks_kernels.add_heat).over(width);

  flotilla::flow flow{all};
  flotilla::data<unsigned> now{flow, {bands * width}, "now"}, next{flow, {bands * width}, "next"};
  auto a = now.tiles({width}, flotilla::blocks(all));  // the first bands belong to rank 0
  auto b = next.tiles({width}, flotilla::blocks(all));
  for (unsigned i = 0; i < bands; ++i) {
    flow.post(uses(write(a(i))), flotilla::host_task([i](flotilla::view<unsigned> band) {
                std::fill_n(band.data, width, 0u);
                if (i == 0) { band(0) = heat; }
              }));
  }
  for (unsigned s = 0; s < steps; ++s, std::swap(a, b)) {
    for (unsigned i = 0; i < bands; ++i) {
      auto &left = a((i + bands - 1) % bands), &right = a((i + 1) % bands);
      flow.post(step(read(left), read(a(i)), read(right), write(b(i)), width), {.label = "step"});
    }
  }
  flotilla::data<unsigned> total{flow, {1}, "total"};  // belongs to rank 0
  for (auto& band : a) { flow.post(add(read(band), reduce(total), width), {.label = "add"}); }

  if (all.rank() != 0) { return true; }
  unsigned const found = total.host()(0);
  std::printf("%d ranks, %u steps: %u of %u units of heat\n", all.ranks(), steps, found, heat);
  return found == heat;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bool is_right = false;
  try {
    // All GPUs of the machine, or this rank's share of them; else CPU devices.
    flotilla::runtime rt{{.devices = flotilla::share_devices(MPI_COMM_WORLD)}};
    flotilla::cluster all{rt, flotilla::mpi(MPI_COMM_WORLD)};
    is_right = all.run([&] { return diffuse(rt, all); });
  } catch (std::exception const& why) { std::fprintf(stderr, "rank %d: %s\n", rank, why.what()); }
  MPI_Finalize();  // after the end of the cluster
  if (is_right) { std::printf("rank %d done\n", rank); }
  return is_right ? 0 : 1;
}
