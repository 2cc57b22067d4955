// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a program as several ranks of one process.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/cluster/cluster.hpp>
#include <flotilla/cluster/distribution.hpp>
#include <flotilla/data/flow.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/testing/loop_transport.hpp>

#include "flow_kernels.hpp"

namespace flotilla::test {

using words = std::vector<std::uint32_t>;
using word_data = data<std::uint32_t>;

[[nodiscard]] inline words iota(std::size_t count, std::uint32_t from = 0) {
  words made(count);
  std::iota(made.begin(), made.end(), from);
  return made;
}
[[nodiscard]] inline words on_host(word_data& which) {
  view<std::uint32_t const> const seen = which.host();
  return {seen.data, seen.data + seen.size()};
}

/// What one rank has.
class rank_program {
 public:
  rank_program(runtime& owner, cluster& ranks)
      : all(ranks), rt(owner), kernels_(owner.load(flow_kernels)) {}

  [[nodiscard]] int rank() const { return all.rank(); }
  /// to = a * 31 + b * 17 + salt + index
  [[nodiscard]] data_launch mix(word_data& to, word_data const& a, word_data const& b,
                                std::uint32_t salt) {
    auto const count = static_cast<std::uint32_t>(to.size());
    return kernels_.kernel(flow_kernels.mix_words)
        .over(count, 32)(write(to), read(a), read(b), count, salt);
  }
  /// all = all * 3 + salt
  [[nodiscard]] data_launch stir(word_data& which, std::uint32_t salt) {
    auto const count = static_cast<std::uint32_t>(which.size());
    return kernels_.kernel(flow_kernels.stir_words).over(count, 32)(update(which), count, salt);
  }
  /// to += from * factor, as a reduction
  [[nodiscard]] data_launch add(word_data& to, word_data const& from, std::uint32_t factor) {
    auto const count = static_cast<std::uint32_t>(to.size());
    return kernels_.kernel(flow_kernels.add_words)
        .over(count, 32)(reduce(to), read(from), count, factor);
  }

  cluster& all;
  runtime& rt;

 private:
  program kernels_;
};

inline void mix_on_host(words& to, words const& a, words const& b, std::uint32_t salt) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = a[i] * 31 + b[i] * 17 + salt + static_cast<std::uint32_t>(i);
  }
}
inline void stir_on_host(words& all, std::uint32_t salt) {
  for (std::uint32_t& each : all) { each = each * 3 + salt; }
}

struct rank_options {
  testing::loop_options loop{};
  unsigned devices = 1;       // of rank 0
  unsigned more_devices = 0;  // of each rank than of the rank before
  int workers = 1;
  transport_threads threads = transport_threads::serialized;
};

/// Starts rank 1, which dies after `is_ready` was set.
[[nodiscard]] inline std::thread start_victim(testing::loop& loop,
                                              std::atomic<bool> const& is_ready) {
  return std::thread{[&] {
    runtime rt{{.devices = "cpu:1", .workers = 1}};
    cluster all{rt, loop.rank(1)};
    while (!is_ready) { std::this_thread::yield(); }
    loop.kill(1);
  }};
}

/// Runs a function on each of `count` ranks, each in a thread and with a runtime of its own.
/// @return the text of the exception that has left each rank; empty if there was none.
template <class Function>
std::vector<std::string> on_ranks(int count, rank_options const& options,
                                  Function const& function) {
  testing::loop loop{count, options.loop};
  std::vector<std::string> errors(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        unsigned const devices = options.devices + static_cast<unsigned>(i) * options.more_devices;
        runtime rt{{.devices = "cpu:" + std::to_string(devices), .workers = options.workers}};
        transport via = loop.rank(i);
        via.threads = options.threads;
        cluster all{rt, via};
        all.run([&] {
          rank_program here{rt, all};
          function(here);
        });
      } catch (std::exception const& error) { errors[static_cast<std::size_t>(i)] = error.what(); }
    });
  }
  for (std::thread& each : threads) { each.join(); }
  return errors;
}

/// Does the same, and expects that no exception leaves a rank.
template <class Function>
void expect_on_ranks(int count, rank_options const& options, Function const& function) {
  for (std::string const& error : on_ranks(count, options, function)) { EXPECT_EQ(error, ""); }
}

}  // namespace flotilla::test
