// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows over the ranks of an MPI. Tests with more cases run without MPI (tests/ranks).

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <flotilla/cluster/distribution.hpp>
#include <flotilla/flotilla.hpp>

#include "exchange.hpp"

namespace {

using namespace flotilla;
using words = data<std::uint32_t>;

std::uint32_t value(std::size_t step, std::size_t index) {
  return static_cast<std::uint32_t>(step * 1009 + index * 31);
}

/// Data that move from rank to rank, through the memory of a device.
void test_chain(cluster& all, std::size_t size) {
  flow over{all};
  words x{over, {size}, "x"};
  over.post(uses(write(x)), host_task([](view<std::uint32_t> out) {
              for (std::size_t i = 0; i < out.size(); ++i) { out(i) = value(0, i); }
            }));
  std::size_t const steps = 40;
  for (std::size_t step = 1; step <= steps; ++step) {
    int const rank = static_cast<int>(step % static_cast<std::size_t>(all.ranks()));
    auto const next = [step](view<std::uint32_t> out) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        CHECK(out(i) == value(step - 1, i));
        out(i) = value(step, i);
      }
    };
    over.post(uses(update(x)), host_task(next), {.rank = rank});
  }
  if (all.rank() == 0) {
    x.prefetch_to(device_ordinal{0});
    auto const seen = x.host();
    for (std::size_t i = 0; i < size; ++i) { CHECK(seen(i) == value(steps, i)); }
  }
}

/// Bands that read their neighbours.
void test_bands(cluster& all) {
  constexpr std::size_t bands = 8, width = 64, steps = 25;
  flow over{all};
  std::vector<std::uint32_t> host(bands * width, 1), expected = host;
  words now{over, host, "now"}, next{over, {bands * width}, "next"};
  {
    auto a = now.tiles({width}, blocks(all)), b = next.tiles({width}, blocks(all));
    for (std::size_t step = 0; step < steps; ++step) {
      std::vector<std::uint32_t> made(expected.size());
      for (std::size_t i = 0; i < bands; ++i) {
        std::size_t const left = i == 0 ? i : i - 1, right = i + 1 == bands ? i : i + 1;
        over.post(uses(write(b(i)), read(a(left)), read(a(i)), read(a(right))),
                  host_task([](view<std::uint32_t> to, view<std::uint32_t const> l,
                               view<std::uint32_t const> m, view<std::uint32_t const> r) {
                    for (std::size_t k = 0; k < to.size(); ++k) {
                      to(k) = l(k) + 2 * m(k) + 3 * r(k);
                    }
                  }));
        for (std::size_t k = 0; k < width; ++k) {
          made[i * width + k] = expected[left * width + k] + 2 * expected[i * width + k] +
                                3 * expected[right * width + k];
        }
      }
      expected = made;
      std::swap(a, b);
    }
  }
  words& last = steps % 2 == 0 ? now : next;
  last.collect();
  if (all.rank() == 0) {
    auto const seen = last.host();
    for (std::size_t i = 0; i < expected.size(); ++i) { CHECK(seen(i) == expected[i]); }
  }
}

/// All ranks add to the same data.
void test_sum(cluster& all) {
  flow over{all};
  std::vector<std::uint32_t> zero(8);
  words sum{over, zero, "sum"};
  for (int rank = 0; rank < all.ranks(); ++rank) {
    over.post(uses(reduce(sum)), host_task([rank](view<std::uint32_t> out) {
                for (std::size_t k = 0; k < out.size(); ++k) {
                  out(k) += static_cast<std::uint32_t>(rank);
                }
              }),
              {.rank = rank});
  }
  int const last = all.ranks() - 1;
  int const expected = last * (last + 1) / 2;
  over.post(uses(read(sum)), host_task([expected](view<std::uint32_t const> in) {
              CHECK(in(7) == static_cast<std::uint32_t>(expected));
            }),
            {.rank = last});
  // The application's own MPI. No rank may need a message of a flow before it gets there.
  all.wait_idle();
  int const mine = all.rank();
  int seen = 0;
  all.exclusive([&] { MPI_Allreduce(&mine, &seen, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); });
  CHECK(seen == expected);
  all.wait_idle();
}

/// A task that fails on one rank.
void test_failed_task(cluster& all) {
  flow over{all};
  words x{over, {64}, "x"};
  over.post(uses(write(x)),
            host_task([](view<std::uint32_t>) { throw std::runtime_error("the disk is full"); }),
            {.label = "load", .rank = 0});
  ticket const reader =
      over.submit(uses(read(x)), host_task([](view<std::uint32_t const>) {}), {.rank = 1});
  if (all.rank() != 1) { return; }
  try {
    reader.wait();
    CHECK(false);
  } catch (dependency_failed const& error) {
    CHECK(std::strstr(error.what(),
                      "rank 0: a host task, label 'load', on the host threw: "
                      "the disk is full") != nullptr);
  }
}

/// An exception on one rank reaches all others. Nothing else may use the cluster afterwards.
void test_exception(runtime& rt) {
  std::string seen;
  try {
    cluster all{rt, mpi(MPI_COMM_WORLD)};
    all.run([&] {
      flow over{all};
      words x{over, {64}, "x"};
      x.set_owner(1);
      if (all.rank() == 1) { throw std::runtime_error("the input is missing"); }
      over.post(uses(write(x)), host_task([](view<std::uint32_t>) {}));
      over.submit(uses(read(x)), host_task([](view<std::uint32_t const>) {}), {.rank = all.rank()})
          .wait();
    });
  } catch (std::exception const& error) { seen = error.what(); }
  CHECK(seen.find("the input is missing") != std::string::npos);
  CHECK(world_rank == 1 || seen.find("rank 1 has failed") != std::string::npos);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  {
    runtime rt{{.on_error = [](std::exception_ptr) {}}};
    {
      cluster all{rt, mpi(MPI_COMM_WORLD)};
      all.run([&] {
        for (std::size_t const size : {16u, 5'000u, 500'000u}) { test_chain(all, size); }
        test_bands(all);
        test_sum(all);
        test_failed_task(all);
      });
    }
    test_exception(rt);
  }
  MPI_Finalize();
  std::printf("rank %d done\n", world_rank);
}
