#include "suite.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "machine.hpp"
#include "rig.hpp"

namespace flotilla::bench {

namespace {

/// Figures keep their own passes; what is left to report is that they are at work.
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
  amounts made;
  if (!gpus) {  // one thread a device runs all its kernels
    made.flood = 32768;
    made.kernel_seconds = 0.03;
    made.copy_bytes = std::size_t{256} << 20;
  }
  if (quick) {
    made = {.passes = 1,
            .flood = 2048,
            .raw = 2048,
            .lone = 20,
            .chain = 2000,
            .copy_bytes = std::size_t{8} << 20,
            .kernel_seconds = 0.004};
  }
  return made;
}

suite::suite(options const& wanted)
    : options_{wanted},
      on_gpus_{machine().api->kind == device_kind::gpu},
      amount_{amounts::of(on_gpus_, wanted.quick)} {}

void suite::measure(std::string name, figure_tags const& of, pass once, std::string unit) {
  figures_.push_back({.name = std::move(name), .of = of, .unit = std::move(unit)});
  passes_.push_back(std::move(once));
}

void suite::compare(row asked) { rows_.push_back(std::move(asked)); }

bool suite::wanted(row const& asked) const {
  return options_.only.empty() ||
         std::find(options_.only.begin(), options_.only.end(), asked.id) != options_.only.end();
}

bool suite::needed(std::string const& name) const {
  return options_.only.empty() || std::any_of(rows_.begin(), rows_.end(), [&](row const& each) {
           return wanted(each) &&
                  (each.subject == name || std::find(each.controls.begin(), each.controls.end(),
                                                     name) != each.controls.end());
         });
}

void suite::make_pass(std::size_t index, double& ns) noexcept {
  figure& at = figures_[index];
  try {
    if (at.passes.empty()) {
      // First uses allocate and load, and flotilla learns how long kernels take.
      passes_[index](at);
      at.each.clear();
    }
    ns = passes_[index](at);
    at.passes.push_back(ns);
  } catch (not_here const& why) {
    at.why_not = std::string{"not here: "} + why.what();
  } catch (std::exception const& why) {
    at.why_not = std::string{"failed: "} + why.what();
    at.failed = true;
    drop_rig();  // whatever state it is in
  }
}

void suite::run() {
  start_ = clock::now();
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    if (!needed(figures_[i].name)) { continue; }
    benchmark::RegisterBenchmark(
        figures_[i].name.c_str(),
        [this, i](benchmark::State& state) {
          figure& at = figures_[i];
          if (at.why_not.empty() && seconds() > options_.seconds && at.passes.empty()) {
            at.why_not = "not measured: the time was over";
          }
          bool const late = seconds() > options_.seconds;
          for (auto _ : state) {
            double ns = 0;
            // Fewer passes are better than none for those behind.
            if (at.why_not.empty() && !late) { make_pass(i, ns); }
            state.SetIterationTime(ns * 1e-9);
          }
        })
        ->UseManualTime()
        ->Iterations(1)
        ->Repetitions(amount_.passes);
  }
  progress quiet;
  benchmark::RunSpecifiedBenchmarks(&quiet);
  benchmark::ClearRegisteredBenchmarks();
  drop_rig();
}

std::vector<row_result> suite::results() const {
  std::vector<row_result> made;
  for (row const& each : rows_) {
    if (wanted(each)) { made.push_back(evaluate(each, figures_, on_gpus_)); }
  }
  return made;
}

std::vector<std::string> suite::ids() const {
  std::vector<std::string> made;
  for (row const& each : rows_) {
    if (std::find(made.begin(), made.end(), each.id) == made.end()) { made.push_back(each.id); }
  }
  return made;
}

void need_devices(int wanted) {
  int const there = static_cast<int>(machine().devices.size());
  if (there < wanted) {
    throw not_here{"needs " + std::to_string(wanted) + " devices, there " +
                   (there == 1 ? "is 1" : "are " + std::to_string(there))};
  }
}

}  // namespace flotilla::bench
