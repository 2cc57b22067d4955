// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Bulks whose items are launched in chunks.

#include <algorithm>
#include <functional>
#include <list>
#include <tuple>
#include <utility>
#include <vector>

#include "contract/chunk_fixture.hpp"

namespace flotilla::test {
namespace {

class BulkChunks : public chunk_test {};
FLOTILLA_CONTRACT(BulkChunks);

// requirement: each item runs once, whatever the number of items, and wherever the items may run
TEST_P(BulkChunks, EachItemRunsOnce) {
  measure_count();
  counting const kernel = count();
  constexpr std::size_t most = 5000;
  host_buffer<word> anywhere{rt(), most};
  for (std::size_t const size : {63u, 64u, 65u, 127u, 128u, 1000u, 1024u, 1025u, 2049u, 5000u}) {
    for (device_ordinal const device : ordinals()) {
      device_buffer<word> counters = zeros(size, device);
      rt().submit(bulk(kernel.over(1, 1), size,
                       [&](std::size_t i) {
                         return std::tuple{counters.span(), static_cast<word>(i)};
                       }))
          .wait();
      ASSERT_EQ(read(counters), ones(size)) << size;
    }
    std::ranges::fill(anywhere.span(), 0u);
    rt().submit(bulk(kernel.over(1, 1), size,
                     [&](std::size_t i) {
                       return std::tuple{anywhere.data(), static_cast<word>(i)};
                     }))
        .wait();
    EXPECT_TRUE(std::all_of(anywhere.data(), anywhere.data() + size, [](word each) {
      return each == 1;
    })) << size;
  }
}

// requirement: once the kernel is measured, a bulk needs one grid for many items, and its items
// count as tasks
TEST_P(BulkChunks, AFewGridsForManyItems) {
  measure_count();
  counting const kernel = count();
  device_buffer<word> counters = zeros(1, last());
  std::uint64_t rounds = 0;
  rt().wait_idle();  // a task is counted when a thread has ended it, after a wait may have returned
  std::uint64_t const before = rt().counters(last()).tasks;
  EXPECT_TRUE(needs_few_batches(2, [&] {
    ++rounds;
    rt().submit(bulk(kernel.over(1, 1), 1000,
                     [&](std::size_t) {
                       return std::tuple{counters.span(), 0u};
                     }))
        .wait();
  }));
  rt().wait_idle();
  EXPECT_EQ(rt().counters(last()).tasks, before + 1000 * rounds);
  EXPECT_EQ(read(counters)[0], 1000 * rounds);
}

// requirement: the other forms of bulk make chunks too
TEST_P(BulkChunks, RangesAndLaunches) {
  measure_count();
  auto const shaped = count().over(1, 1);
  device_buffer<word> counters = zeros(n, last());
  std::list<std::pair<device_span<word>, word>> tuples;
  std::vector<launch> launches;
  std::list<launch> list;
  for (word i = 0; i < n; ++i) {
    tuples.emplace_back(counters.span(), i);
    launches.push_back(shaped(counters, i));
    list.push_back(launches.back());
  }
  word times = 0;
  std::vector<std::function<ticket()>> const forms{
      [&] { return rt().submit(bulk(shaped, tuples)); },
      [&] { return rt().submit(bulk(launches)); }, [&] { return rt().submit(bulk(list)); },
      [&] { return rt().submit(bulk(n, [&](std::size_t i) { return launches[i]; })); },
      [&] {
        return rt().submit(bulk(n, [&](std::size_t i) -> launch const& { return launches[i]; }));
      }};
  for (auto const& form : forms) {
    EXPECT_TRUE(needs_few_batches(4, [&] {
      form().wait();
      ++times;
    }));
  }
  EXPECT_EQ(read(counters), std::vector<word>(n, times));
}

// requirement: the items of a chunk may have different grids, and each sees its own
TEST_P(BulkChunks, DifferentGrids) {
  auto const shape = program().loaded.kernel<word*>("report_shape");
  measure([&](device_ordinal device) {
    static_cast<void>(device);
    return program().nothing.over(1, 1)();
  });
  device_buffer<word> seen = zeros(7 * n, last());
  for (int i = 0; i < 8; ++i) { rt().submit(shape.over(1, 1)(seen)).wait(); }
  std::vector<launch> launches;
  for (word i = 0; i < n; ++i) {
    launches.push_back(
        shape.with_shape({i % 5 + 1, i % 3 + 1, i % 2 + 1}, {2})(seen.subspan(7 * i, 7)));
  }
  EXPECT_TRUE(needs_few_batches(4, [&] {
    rt().submit(seen.fill(0)).wait();
    rt().submit(bulk(launches)).wait();
  }));
  std::vector<word> const all = read(seen);
  for (word i = 0; i < n; ++i) {
    std::vector<word> const one(all.begin() + 7 * i, all.begin() + 7 * i + 7);
    word const x = i % 5 + 1, y = i % 3 + 1, z = i % 2 + 1;
    ASSERT_EQ(one, (std::vector<word>{x, y, z, 2, 1, 1, 2 * x * y * z})) << i;
  }
}

// requirement: items that differ in kernel, block or device lose nothing
TEST_P(BulkChunks, ItemsOfDifferentForms) {
  measure_count();
  measure_add();
  counting const kernel = count();
  device_buffer<word> here = zeros(n, first()), there = zeros(n, last());
  device_buffer<word> sums = zeros(2, last());
  std::vector<launch> launches;
  word blocks = 0, threads = 0;
  for (word i = 0; i < n; ++i) {
    // Runs of some length, so that some items are in chunks and others are not.
    bool const is_here = i / 100 % 2 == 0;
    launches.push_back(kernel.over(1, 1)(is_here ? here : there, i));
    if (i % 7 == 0) {
      launches.push_back(
          program().add.with_shape({i % 3 + 1}, {i % 2 + 1})(sums.subspan(0, 1), 1u));
      blocks += (i % 3 + 1) * (i % 2 + 1);
    }
    if (i > 200) {
      launches.push_back(program().add.with_shape({1}, {1}, i % 2 * 64)(sums.subspan(1, 1), 2u));
      threads += 2;
    }
  }
  rt().submit(bulk(launches)).wait();
  std::vector<word> expected_here(n), expected_there(n);
  for (word i = 0; i < n; ++i) { (i / 100 % 2 == 0 ? expected_here : expected_there)[i] = 1; }
  EXPECT_EQ(read(here), expected_here);
  EXPECT_EQ(read(there), expected_there);
  EXPECT_EQ(read(sums), (std::vector<word>{blocks, threads}));
}

// requirement: arguments are at the offsets of their parameters
TEST_P(BulkChunks, ArgumentsWithPadding) {
  auto const mixed =
      program().loaded.kernel<char, double, short, unsigned long long, float, double*>(
          "mixed_parameters");
  device_buffer<double> out{rt(), last(), 5 * n};
  for (int i = 0; i < 8; ++i) {
    rt().submit(mixed.over(1, 1)(char{0}, 0.0, short{0}, 0ull, 0.0f, out)).wait();
  }
  rt().submit(bulk(mixed.over(1, 1), n,
                   [&](std::size_t i) {
                     return std::tuple{static_cast<char>(i % 100),
                                       2.25 * static_cast<double>(i),
                                       static_cast<short>(-static_cast<int>(i)),
                                       std::uint64_t{i} << 33,
                                       0.5f + static_cast<float>(i),
                                       out.subspan(5 * i, 5)};
                   }))
      .wait();
  std::vector<double> seen(5 * n), expected;
  rt().submit(out.copy_to(std::span{seen})).wait();
  for (std::size_t i = 0; i < n; ++i) {
    auto const number = static_cast<double>(i);
    for (double const each : {static_cast<double>(i % 100), 2.25 * number, -number,
                              number * 8589934592.0, 0.5 + number}) {
      expected.push_back(each);
    }
  }
  EXPECT_EQ(seen, expected);
}

// requirement: a device that has not measured the kernel yet divides chunks that may be too large
TEST_P(BulkChunks, DeviceDividesLargeChunks) {
  auto const shape = program().loaded.kernel<word*>("report_shape");
  constexpr std::size_t many = 2000;
  constexpr word blocks = 64;
  host_buffer<word> seen{rt(), 7 * many};
  for (int i = 0; i < 8; ++i) {
    rt().submit(shape.with_shape({blocks}, {1})(seen.data()), {.device = first()}).wait();
  }
  auto const grid_of = [](bool differ, std::size_t i) {
    return differ ? static_cast<word>(blocks - i % 3) : blocks;
  };
  for (bool const differ : {false, true}) {
    std::ranges::fill(seen.span(), 0u);
    if (differ) {
      rt().submit(bulk(many,
                       [&](std::size_t i) {
                         return shape.with_shape({grid_of(differ, i)}, {1})(seen.data() + 7 * i);
                       }))
          .wait();
    } else {
      rt().submit(bulk(shape.with_shape({blocks}, {1}), many,
                       [&](std::size_t i) { return std::tuple{seen.data() + 7 * i}; }))
          .wait();
    }
    for (std::size_t i = 0; i < many; ++i) {
      ASSERT_EQ(seen[7 * i], grid_of(differ, i)) << i;
      ASSERT_EQ(seen[7 * i + 6], grid_of(differ, i)) << i;
    }
  }
}

}  // namespace
}  // namespace flotilla::test
