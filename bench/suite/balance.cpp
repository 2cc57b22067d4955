// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Question: one of four devices is three times slower, and any device may take a task. Do all
//           devices finish at about the same time?
// Control:  the device that finishes first.

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <span>
#include <vector>

#include <bench_kernels.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "bench_suite.hpp"
#include "runtime_fixture.hpp"

namespace flotilla::bench {

namespace {

constexpr unsigned devices = 4;
constexpr unsigned long long kernel_ns = 200'000;

/// Returns the time in ns, from the clock that kernels on CPU devices read.
unsigned long long now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<unsigned long long>(time.tv_sec) * 1'000'000'000u +
         static_cast<unsigned long long>(time.tv_nsec);
}

/// While this object exists, kernels on device 1 take three times as long.
struct slow_device {
  slow_device() { testing::slow_kernels(testing::cpu_device{1}, 3); }
  ~slow_device() { testing::clear_faults(); }
  slow_device(slow_device const&) = delete;
  slow_device& operator=(slow_device const&) = delete;
};

/// Returns one time per device, in ns. Each time begins with the first submit and ends when the
/// last task of the device ends. The times are sorted.
std::array<double, devices> end_times(std::int64_t tasks) {
  slow_device const slow;
  auto& fixture = get_fixture<runtime_fixture>({.devices = devices,
                                                .workers = runtime_options::automatic,
                                                .device_spec = "cpu:" + std::to_string(devices)});
  program const stamping = fixture.rt.load(bench_kernels);
  for (unsigned i = 0; i < devices; ++i) {
    stamping.write_global(device_ordinal{i}, "here", std::as_bytes(std::span{&i, 1}));
  }
  auto const size = static_cast<std::size_t>(tasks);
  host_buffer<unsigned long long> when{fixture.rt, size};
  host_buffer<unsigned> where{fixture.rt, size};
  auto const stamp =
      stamping.kernel<unsigned long long, unsigned long long*, unsigned*>("stamp").with_shape({1},
                                                                                              {1});
  unsigned long long const start = now_ns();
  for (std::size_t i = 0; i < size; ++i) {
    static_cast<void>(fixture.rt.submit(stamp(kernel_ns, when.data() + i, where.data() + i)));
  }
  fixture.rt.wait_idle();
  std::array<double, devices> last{};
  for (std::size_t i = 0; i < size; ++i) {
    double& end = last[where[i]];
    end = std::max(end, static_cast<double>(when[i] - start));
  }
  std::sort(last.begin(), last.end());
  return last;
}

}  // namespace

void add_balance(bench_suite& suite) {
  // The four devices together are as fast as 10/3 normal devices: three normal devices, and one
  // with a third of the speed.
  auto const tasks = std::max<std::int64_t>(
      64, static_cast<std::int64_t>(suite.amount().kernel_seconds * 2e9 / kernel_ns * 10 / 3));
  // Both figures describe the same passes. The figure "last of four devices" measures the passes
  // and stores the time of the first device here. The figure "first of four devices" reads this
  // time.
  struct first_ends {
    std::vector<double> passes{};  // all passes, including the warm-up pass
    std::size_t next = 0;
  };
  auto const first = std::make_shared<first_ends>();
  figure_tags tags{
      .who = "flotilla, last", .what = "balance", .devices = devices, .backlog = tasks};
  suite.measure("flotilla, last of four devices", tags, [=](figure& result) {
    std::array<double, devices> const each = end_times(tasks);
    result.note = each.front() > 0 ? "" : "at least one device ran no task";
    first->passes.push_back(std::max(each.front(), 1.0));
    return each.back();
  });
  tags.who = "flotilla, first";
  suite.measure("flotilla, first of four devices", tags, [=](figure&) {
    if (first->next == first->passes.size()) {
      throw not_available{"the figure of the last device was not measured"};
    }
    return first->passes[first->next++];
  });
  suite.compare({.id = "balance",
                 .subject = "flotilla, last of four devices",
                 .control = "the device that ends first",
                 .controls = {"flotilla, first of four devices"},
                 .max_ratio = 1.1,
                 .for_gpus = false});
}

}  // namespace flotilla::bench
