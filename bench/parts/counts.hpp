#pragma once
// What rows report beside their time.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace flotilla::bench {

using clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// `time/task`: the row's time by `tasks_an_iteration`, in seconds ("174n" is 174 ns).
inline void report_tasks(benchmark::State& state, std::int64_t tasks_an_iteration) {
  using benchmark::Counter;
  state.SetItemsProcessed(state.iterations() * tasks_an_iteration);
  state.counters["time/task"] =
      Counter(static_cast<double>(tasks_an_iteration),
              Counter::Flags(Counter::kIsIterationInvariantRate | Counter::kInvert));
}

/// How rows are timed: by the clock on the wall, and beside it (column CPU) what all threads of the
/// process used.
inline void on_the_wall(benchmark::internal::Benchmark* row) {
  row->MeasureProcessCPUTime()->UseRealTime();
}

/// Times of single tasks: a mean would hide what matters.
class latencies {
 public:
  explicit latencies(benchmark::State const& state) {
    each_.reserve(static_cast<std::size_t>(state.max_iterations));
  }

  void add(clock::duration took) {
    each_.push_back(std::chrono::duration<double, std::micro>(took).count());
  }

  /// `p50_us` and `p99_us`: what half of the tasks, and all but a hundredth, took at most, in
  /// microseconds.
  void report(benchmark::State& state) {
    if (each_.empty()) { return; }
    std::sort(each_.begin(), each_.end());
    state.counters["p50_us"] = each_[each_.size() / 2];
    state.counters["p99_us"] = each_[each_.size() * 99 / 100];
  }

 private:
  std::vector<double> each_;
};

}  // namespace flotilla::bench
