// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Random programs over ranks give the same results as in one thread.

#include <random>

#include "ranks/ranks_fixture.hpp"

namespace flotilla::test {
namespace {

constexpr std::size_t tile_size = 24;
constexpr std::size_t tile_count = 6;
constexpr std::size_t single_count = 3;
constexpr std::size_t all_count = tile_count + single_count;
constexpr int task_count = 120;

/// A program that every rank runs with the same seed. It also computes the results in the order of
/// the program, on the host.
class random_ranks {
 public:
  random_ranks(rank_program& here, unsigned seed)
      : here_(here), random_(seed), flow_(here.all), expected_(all_count, words(tile_size)) {}

  void run() {
    words host = iota(tile_size * tile_count);
    word_data whole{flow_, host, "whole"};
    for (std::size_t i = 0; i < tile_count; ++i) {
      expected_[i] = iota(tile_size, static_cast<std::uint32_t>(i * tile_size));
    }
    for (std::size_t i = 0; i < single_count; ++i) {
      singles_.emplace_back(flow_, std::array<std::size_t, 1>{tile_size}, "single");
      singles_.back().set_owner(some_rank());
      flow_.post(uses(write(singles_.back())), host_task([](view<std::uint32_t> out) {
                   for (std::size_t k = 0; k < out.size(); ++k) { out(k) = 0; }
                 }));
    }
    {
      tiles_ = whole.tiles({tile_size}, cyclic(here_.all));
      for (int i = 0; i < task_count; ++i) { post_one(); }
      check();
      tiles_ = {};
    }
    whole.collect();
    if (here_.rank() == 0) {
      words const seen = on_host(whole);
      for (std::size_t i = 0; i < tile_count; ++i) {
        words const part(seen.begin() + static_cast<std::ptrdiff_t>(i * tile_size),
                         seen.begin() + static_cast<std::ptrdiff_t>((i + 1) * tile_size));
        EXPECT_EQ(part, expected_[i]) << "tile " << i << " after it was collected";
      }
    }
  }

 private:
  [[nodiscard]] std::size_t below(std::size_t limit) { return random_() % limit; }
  [[nodiscard]] int some_rank() {
    return static_cast<int>(below(static_cast<std::size_t>(here_.all.ranks())));
  }
  [[nodiscard]] word_data& at(std::size_t i) {
    return i < tile_count ? tiles_(i) : singles_[i - tile_count];
  }
  void post_one() {
    std::size_t const to = below(all_count), a = below(all_count), b = below(all_count);
    auto const salt = static_cast<std::uint32_t>(below(1000));
    task_options options;
    if (below(3) == 0) { options.rank = some_rank(); }
    switch (below(7)) {
      case 0:
      case 1:
        if (to == a || to == b) { return; }
        flow_.post(here_.mix(at(to), at(a), at(b), salt), options);
        return mix_on_host(expected_[to], expected_[a], expected_[b], salt);
      case 2:
        flow_.post(here_.stir(at(to), salt), options);
        return stir_on_host(expected_[to], salt);
      case 3:
        if (to == a) { return; }
        flow_.post(here_.add(at(to), at(a), salt), options);
        for (std::size_t k = 0; k < tile_size; ++k) { expected_[to][k] += expected_[a][k] * salt; }
        return;
      case 4:
        flow_.post(uses(update(at(to))), host_task([salt](view<std::uint32_t> out) {
                     for (std::size_t k = 0; k < out.size(); ++k) { out(k) = out(k) * 5 + salt; }
                   }),
                   {.rank = options.rank});
        for (std::uint32_t& each : expected_[to]) { each = each * 5 + salt; }
        return;
      case 5: return at(to).collect();  // ends copies
      default:
        if (to >= tile_count) { singles_[to - tile_count].set_owner(some_rank()); }
        return;
    }
  }
  void check() {
    for (std::size_t i = 0; i < all_count; ++i) {
      if (at(i).owner() == here_.rank()) { EXPECT_EQ(on_host(at(i)), expected_[i]) << i; }
    }
  }

  rank_program& here_;
  std::mt19937 random_;
  flow flow_;
  std::vector<words> expected_;
  std::vector<word_data> singles_;
  tile_array<std::uint32_t, 1> tiles_;
};

// requirement: random programs give the results of a serial run, whatever the order of messages
TEST(RanksRandom, ProgramsGiveTheResultsOfASerialRun) {
  for (unsigned seed = 1; seed <= 24; ++seed) {
    int const ranks = 2 + static_cast<int>(seed % 3);
    expect_on_ranks(ranks,
                    {.loop = {.seed = seed, .eager_bytes = seed % 2 == 0 ? 0u : 16384u},
                     .devices = 1 + seed % 2,
                     .workers = static_cast<int>(seed % 4 != 0)},
                    [seed](rank_program& here) {
                      random_ranks{here, seed}.run();
                    });
    if (HasFailure()) {
      std::printf("the seed was %u\n", seed);
      return;
    }
  }
}

}  // namespace
}  // namespace flotilla::test
