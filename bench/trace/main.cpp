// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: what does a trace cost, for each task?
// Control:  the same flood of tasks without a trace, measured in turn.

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "build_kind.hpp"
#include "encode.hpp"
#include "flood.hpp"

namespace {

using namespace flotilla::bench;

void print_encoder(std::size_t tasks) {
  struct row {
    encoded what;
    char const* text;
  };
  constexpr std::array rows{
      row{encoded::batches, "launches that ended together"},
      row{encoded::single_launches, "launches, one by one"},
      row{encoded::labels, "launches with a label"},
      row{encoded::predecessors, "launches with three predecessors"},
  };
  std::printf("the encoder alone\n");
  for (row const& each : rows) {
    encoder_cost best = measure_encoder(each.what, tasks);
    for (int i = 0; i < 4; ++i) {
      best.ns = std::min(best.ns, measure_encoder(each.what, tasks).ns);
    }
    std::printf("  %-34s %6.1f ns, %6.1f bytes a task\n", each.text, best.ns, best.bytes);
  }
}

void print_floods(std::size_t tasks, int rounds, std::filesystem::path const& file) {
  struct kind {
    std::uint32_t every;
    char const* text;
    double best = 0;
  };
  std::array kinds{kind{0, "no trace"}, kind{100, "one task of 100"}, kind{1, "every task"}};
  std::printf("a flood of %zu empty launches from one thread\n", tasks);
  for (int round = 0; round < rounds; ++round) {
    for (kind& each : kinds) {
      flood_cost const cost = measure_flood(tasks, each.every, file);
      each.best = round == 0 ? cost.ns : std::min(each.best, cost.ns);
      std::printf("  %-16s %7.1f ns a task, %8ju traced, %7ju dropped, %10ju bytes\n", each.text,
                  cost.ns, static_cast<std::uintmax_t>(cost.traced),
                  static_cast<std::uintmax_t>(cost.dropped),
                  static_cast<std::uintmax_t>(cost.bytes));
    }
  }
  for (kind const& each : kinds) {
    std::printf("  %s: %.2f of no trace, by the fastest round\n", each.text,
                each.best / kinds[0].best);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures the cost of traces on the first device of FLOTILLA_DEVICES",
               "bench_trace"};
  std::size_t tasks = 1'000'000;
  int rounds = 3;
  std::string file = "bench_trace.pftrace";
  bool quick = false;
  app.add_option("--tasks", tasks, "the number of tasks of a flood")->check(CLI::PositiveNumber);
  app.add_option("--rounds", rounds, "how often each flood is measured")
      ->check(CLI::PositiveNumber);
  app.add_option("--file", file, "the file of the traces, which is removed afterwards");
  app.add_flag("--quick", quick, "only check that the program works; the figures are meaningless");
  CLI11_PARSE(app, argc, argv);
  if (auto const why = why_not_measured()) {
    std::cerr << "bench_trace refuses to report: this flotilla was " << *why << ", build type '"
              << build_type() << "'. Use the preset `release`.\n";
    return 2;
  }
  try {
    print_encoder(quick ? 10'000 : tasks);
    print_floods(quick ? 10'000 : tasks, quick ? 1 : rounds, file);
    return 0;
  } catch (std::exception const& failure) {
    std::cerr << "bench_trace: " << failure.what() << '\n';
    return 1;
  }
}
