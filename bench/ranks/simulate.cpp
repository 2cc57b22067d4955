// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Runs programs for many ranks in one process, over the loop transport, with a model of a network:
//
//   bench_ranks_simulate PROGRAM RANKS...
//
//   stencil        one band of 1024 words for each rank, 10 steps
//   stencil_local  the same, but each rank leaves out the tasks in which it does not take part
//   cholesky       a matrix of 24 x 24 tiles of 1024 words, block-cyclic
//
// All ranks share one runtime and one thread, so what is measured in real time is the work of the
// ranks one after the other. Virtual time is what the model says: a message takes 2 us and moves at
// 25 GB/s, a task takes 10 us, and submitting a task takes as long as it took here.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <flotilla/cluster/distribution.hpp>
#include <flotilla/flotilla.hpp>
#include <flotilla/testing/loop_transport.hpp>

#include "steps.hpp"

namespace {

using namespace flotilla;
using words = data<std::uint32_t>;
using std::chrono::nanoseconds;

constexpr std::size_t tile_words = 1024;
constexpr nanoseconds task_time{10'000};

[[nodiscard]] double since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/// One rank of the simulated program.
struct rank_state {
  rank_state(runtime& rt, testing::loop& ranks, int number)
      : all(rt, ranks.rank(number)), over(all) {}
  cluster all;
  flow over;
  words first, second;  // the whole data, without memory
  tile_array<std::uint32_t, 1> a, b;
  std::size_t own = 0, skipped = 0;  // tasks
};

class simulation {
 public:
  explicit simulation(int ranks)
      : rt_({.devices = "cpu:1", .workers = 0}),
        loop_(ranks, {.latency = nanoseconds{2000}, .bytes_per_second = 25e9}),
        program_(rt_.load(steps)) {
    for (int i = 0; i < ranks; ++i) { ranks_.emplace_back(rt_, loop_, i); }
  }
  ~simulation() {
    for (auto& each : ranks_) {
      each.a = {};
      each.b = {};
      each.first = {};
      each.second = {};
    }
    // One thread ends all ranks, so each of them first says that it submits nothing more.
    for (auto& each : ranks_) { each.all.finish(); }
  }
  simulation(simulation const&) = delete;
  simulation& operator=(simulation const&) = delete;

  /// @param leaves_out  Whether a rank submits only the tasks on bands up to two away from its
  ///                    own, which are those that use a band of which it has a copy. These read
  ///                    bands up to three away, so it also submits what gives them contents.
  void stencil(bool leaves_out) {
    std::size_t const bands = ranks_.size();
    auto const for_each_band = [&](rank_state& at, std::size_t reach, auto const& call) {
      auto const own = static_cast<std::size_t>(at.all.rank());
      std::size_t const begin = leaves_out && own > reach ? own - reach : 0;
      std::size_t const end = leaves_out ? std::min(own + reach + 1, bands) : bands;
      for (std::size_t i = begin; i < end; ++i) { call(i); }
    };
    for (auto& each : ranks_) {
      each.first = words{each.over, {bands * tile_words}};
      each.second = words{each.over, {bands * tile_words}};
      each.a = each.first.tiles({tile_words}, blocks(each.all));
      each.b = each.second.tiles({tile_words}, blocks(each.all));
    }
    for_each_rank([&](rank_state& at) {
      for_each_band(at, 3, [&](std::size_t i) {
        start(at, at.a(i), static_cast<std::uint32_t>(i));
        if (leaves_out) { start(at, at.b(i), 0); }
      });
    });
    std::vector<std::uint32_t> expected(bands);
    for (std::size_t i = 0; i < bands; ++i) { expected[i] = static_cast<std::uint32_t>(i); }
    for (int step = 0; step < 10; ++step) {
      for_each_rank([&](rank_state& at) {
        for_each_band(at, 2, [&](std::size_t i) {
          post(at, write(at.b(i)), at.b(i), at.a(i == 0 ? i : i - 1), at.a(i),
               at.a(i + 1 == bands ? i : i + 1));
        });
        std::swap(at.a, at.b);
      });
      std::vector<std::uint32_t> next(bands);
      for (std::size_t i = 0; i < bands; ++i) {
        next[i] = expected[i == 0 ? i : i - 1] + expected[i] + expected[i + 1 == bands ? i : i + 1];
      }
      expected = next;
    }
    for (std::size_t i = 0; i < bands; ++i) {
      words& last = ranks_[i].a(i);
      if (last.host()(tile_words - 1) != expected[i]) { ++wrong_; }
    }
  }

  void cholesky() {
    constexpr std::size_t n = 24;
    auto const count = static_cast<int>(ranks_.size());
    int rows = static_cast<int>(std::sqrt(static_cast<double>(count)));
    while (count % rows != 0) { --rows; }
    int const columns = count / rows;
    auto const owner = [&](std::array<std::size_t, 1> const& index) {
      auto const row = static_cast<int>(index[0] / n), column = static_cast<int>(index[0] % n);
      return row % rows * columns + column % columns;
    };
    for (auto& each : ranks_) {
      each.first = words{each.over, {n * n * tile_words}};
      each.a = each.first.tiles({tile_words}, owner);
    }
    for_each_rank([&](rank_state& at) {
      for (std::size_t i = 0; i < n * n; ++i) { start(at, at.a(i), 1); }
    });
    for (std::size_t k = 0; k < n; ++k) {
      for_each_rank([&](rank_state& at) {
        auto const tile = [&](std::size_t row, std::size_t column) -> words& {
          return at.a(row * n + column);
        };
        post(at, update(tile(k, k)), tile(k, k));
        for (std::size_t i = k + 1; i < n; ++i) {
          post(at, update(tile(i, k)), tile(i, k), tile(k, k));
        }
        for (std::size_t i = k + 1; i < n; ++i) {
          for (std::size_t j = k + 1; j <= i; ++j) {
            post(at, update(tile(i, j)), tile(i, j), tile(i, k), tile(j, k));
          }
        }
      });
    }
  }

  void print(char const* name, double seconds) const {
    std::size_t own = 0, skipped = 0;
    std::uint64_t messages = 0, most_messages = 0;
    nanoseconds last{0};
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      own += ranks_[i].own;
      skipped += ranks_[i].skipped;
      std::uint64_t const sent = ranks_[i].all.counters().messages_sent;
      messages += sent;
      most_messages = std::max(most_messages, sent);
      last = std::max(last, loop_.now(static_cast<int>(i)));
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    double const ranks = static_cast<double>(ranks_.size());
    std::printf(
        "%-13s %5zu ranks: %7.2f s, %7.1f MB (%6.0f KB a rank), %8.1f us virtual, "
        "%6.1f own and %8.1f skipped tasks a rank, %5.0f ns a skip, %6.1f messages a rank "
        "(at most %llu), %d wrong\n",
        name, ranks_.size(), seconds, static_cast<double>(used.ru_maxrss) / 1e3,
        static_cast<double>(used.ru_maxrss) / ranks, static_cast<double>(last.count()) / 1e3,
        static_cast<double>(own) / ranks, static_cast<double>(skipped) / ranks,
        skipped == 0 ? 0 : skip_seconds_ / static_cast<double>(skipped) * 1e9,
        static_cast<double>(messages) / ranks, static_cast<unsigned long long>(most_messages),
        wrong_);
  }
  [[nodiscard]] bool is_right() const { return wrong_ == 0; }

 private:
  /// Lets each rank submit a part of the program, and then runs all of it.
  template <class Submit>
  void for_each_rank(Submit const& submit) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      rank_state& at = ranks_[i];
      std::size_t const before = at.own, skipped_before = at.skipped;
      auto const begun = std::chrono::steady_clock::now();
      submit(at);
      double const seconds = since(begun);
      auto const submitted = static_cast<double>(at.skipped - skipped_before + at.own - before);
      // Tasks of other ranks are most of them, unless there are few ranks.
      if (at.own - before < at.skipped - skipped_before) {
        skip_seconds_ += seconds * static_cast<double>(at.skipped - skipped_before) / submitted;
      }
      loop_.advance(static_cast<int>(i),
                    nanoseconds{static_cast<std::int64_t>(seconds * 1e9)} +
                        task_time * static_cast<std::int64_t>(at.own - before));
    }
    rt_.wait_idle();
  }
  void start(rank_state& at, words& tile, std::uint32_t value) {
    count(at, tile);
    at.over.post(uses(write(tile)), host_task([value](view<std::uint32_t> out) {
                   for (std::size_t i = 0; i < out.size(); ++i) { out(i) = value; }
                 }));
  }
  template <class Use, class... Reads>
  void post(rank_state& at, Use const& to, words& tile, Reads&... from) {
    count(at, tile);
    auto const size = static_cast<std::uint32_t>(tile_words);
    if constexpr (sizeof...(Reads) == 3) {
      at.over.post(program_.kernel(steps.stencil_words).over(size, 256)(to, read(from)..., size));
    } else if constexpr (sizeof...(Reads) == 2) {
      at.over.post(program_.kernel(steps.add_two).over(1)(to, read(from)...));
    } else if constexpr (sizeof...(Reads) == 1) {
      at.over.post(program_.kernel(steps.add_one).over(1)(to, read(from)...));
    } else {
      at.over.post(program_.kernel(steps.touch_word).over(1)(to));
    }
  }
  static void count(rank_state& at, words& tile) {
    ++(tile.owner() == at.all.rank() ? at.own : at.skipped);
  }

  runtime rt_;
  testing::loop loop_;
  program program_;
  std::deque<rank_state> ranks_;
  double skip_seconds_ = 0;
  int wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_ranks_simulate stencil|stencil_local|cholesky RANKS...\n");
    return 2;
  }
  bool is_right = true;
  for (int i = 2; i < argc; ++i) {
    simulation all{std::atoi(argv[i])};
    auto const begun = std::chrono::steady_clock::now();
    bool const leaves_out = std::strcmp(argv[1], "stencil_local") == 0;
    bool const is_stencil = leaves_out || std::strcmp(argv[1], "stencil") == 0;
    is_stencil ? all.stencil(leaves_out) : all.cholesky();
    all.print(argv[1], since(begun));
    is_right = is_right && all.is_right();
  }
  return is_right ? 0 : 1;
}
