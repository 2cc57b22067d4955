// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "bench_suite.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "cached_fixture.hpp"
#include "machine.hpp"

namespace flotilla::bench {

namespace {

/// Prints the name of the current figure. The results are not printed, because each figure stores
/// its own results.
class progress final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(Context const&) override { return true; }
  void ReportRuns(std::vector<Run> const& runs) override {
    if (!runs.empty()) {
      std::fprintf(stderr, "%s\n", runs.front().run_name.function_name.c_str());
      std::fflush(stderr);
    }
  }
};

}  // namespace

amounts amounts::of(bool gpus, bool quick) {
  amounts amount;
  if (!gpus) {  // smaller amounts, because a CPU device runs all kernels on one thread
    amount.flood = 32768;
    amount.kernel_seconds = 0.03;
    amount.copy_bytes = std::size_t{256} << 20;
    amount.copies = 2048;
  }
  if (quick) {
    amount = {.passes = 1,
              .flood = 2048,
              .raw = 2048,
              .lone = 20,
              .chain = 2000,
              .copy_bytes = std::size_t{8} << 20,
              .copies = 64,
              .kernel_seconds = 0.004};
  }
  return amount;
}

bench_suite::bench_suite(options const& wanted)
    : options_{wanted},
      on_gpus_{machine().api->kind == device_kind::gpu},
      amount_{amounts::of(on_gpus_, wanted.quick)} {}

void bench_suite::measure(std::string name, figure_tags const& tags, pass once, std::string unit) {
  figures_.push_back({.name = std::move(name), .tags = tags, .unit = std::move(unit)});
  passes_.push_back(std::move(once));
}

void bench_suite::compare(row row) { rows_.push_back(std::move(row)); }

bool bench_suite::wanted(row const& row) const {
  return options_.only.empty() ||
         std::find(options_.only.begin(), options_.only.end(), row.id) != options_.only.end();
}

bool bench_suite::needed(std::string const& figure_name) const {
  return options_.only.empty() || std::any_of(rows_.begin(), rows_.end(), [&](row const& each) {
           return wanted(each) && (each.subject == figure_name ||
                                   std::find(each.controls.begin(), each.controls.end(),
                                             figure_name) != each.controls.end());
         });
}

void bench_suite::run_pass(std::size_t index, double& ns) noexcept {
  figure& result = figures_[index];
  try {
    if (result.passes.empty()) {
      // This warm-up pass is not counted: it loads kernels and allocates memory, and flotilla
      // learns the running times of the kernels.
      passes_[index](result);
      result.samples.clear();
    }
    ns = passes_[index](result);
    result.passes.push_back(ns);
  } catch (not_available const& why) {
    result.why_not = std::string{"not here: "} + why.what();
  } catch (std::exception const& why) {
    result.why_not = std::string{"failed: "} + why.what();
    result.failed = true;
    drop_fixture();  // the failure may have left the fixture unusable
  }
}

void bench_suite::run() {
  start_ = clock::now();
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    if (!needed(figures_[i].name)) { continue; }
    benchmark::RegisterBenchmark(
        figures_[i].name.c_str(),
        [this, i](benchmark::State& state) {
          figure& result = figures_[i];
          if (result.why_not.empty() && seconds() > options_.seconds && result.passes.empty()) {
            result.why_not = "not measured: the time limit (--seconds) was reached";
          }
          bool const late = seconds() > options_.seconds;
          for (auto _ : state) {
            double ns = 0;
            // After the time limit, the figure keeps the passes that were already measured.
            if (result.why_not.empty() && !late) { run_pass(i, ns); }
            state.SetIterationTime(ns * 1e-9);
          }
        })
        ->UseManualTime()
        ->Iterations(1)
        ->Repetitions(amount_.passes);
  }
  progress reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::ClearRegisteredBenchmarks();
  drop_fixture();
}

std::vector<row_result> bench_suite::results() const {
  std::vector<row_result> results;
  for (row const& each : rows_) {
    if (!wanted(each)) { continue; }
    row_result result = evaluate(each, figures_, on_gpus_);
    if (options_.quick) {
      result.ratio.reset();
      result.met.reset();
      result.judged = false;
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<std::string> bench_suite::ids() const {
  std::vector<std::string> ids;
  for (row const& each : rows_) {
    if (std::find(ids.begin(), ids.end(), each.id) == ids.end()) { ids.push_back(each.id); }
  }
  return ids;
}

void need_devices(int wanted) {
  int const available = static_cast<int>(machine().devices.size());
  if (available < wanted) {
    throw not_available{"needs " + std::to_string(wanted) + " devices, there " +
                        (available == 1 ? "is 1" : "are " + std::to_string(available))};
  }
}

}  // namespace flotilla::bench
