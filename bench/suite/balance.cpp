// Question: when one of four devices is three times slower and tasks go to any device, do all
//           devices end at about the same time?
// Control:  the device that ends first.

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <span>
#include <vector>

#include <bench_kernels.hpp>
#include <flotilla/injection.hpp>

#include "fleet.hpp"
#include "suite.hpp"

namespace flotilla::bench {

namespace {

constexpr unsigned devices = 4;
constexpr unsigned long long kernel_ns = 200'000;

/// The clock that kernels of CPU devices read.
unsigned long long now() {
  timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<unsigned long long>(at.tv_sec) * 1'000'000'000u +
         static_cast<unsigned long long>(at.tv_nsec);
}

/// Slows device 1 as long as it lives.
struct slowed {
  slowed() { inject("slow=1:3"); }
  ~slowed() { clear_injection(); }
  slowed(slowed const&) = delete;
  slowed& operator=(slowed const&) = delete;
};

/// When each device ended its last task, in ns since the first submit, earliest first.
std::array<double, devices> ends(std::int64_t tasks) {
  slowed const one;
  auto& ships = rig_for<fleet>({.devices = devices,
                                .workers = runtime_options::automatic,
                                .where = "cpu:" + std::to_string(devices)});
  program const stamping = ships.rt.load(bench_kernels);
  for (unsigned i = 0; i < devices; ++i) {
    stamping.write_global(device_ordinal{i}, "here", std::as_bytes(std::span{&i, 1}));
  }
  auto const size = static_cast<std::size_t>(tasks);
  host_buffer<unsigned long long> const when{ships.rt, size};
  host_buffer<unsigned> const where{ships.rt, size};
  auto const stamp =
      stamping.kernel<unsigned long long, unsigned long long*, unsigned*>("stamp").on({1}, {1});
  unsigned long long const start = now();
  for (std::size_t i = 0; i < size; ++i) {
    static_cast<void>(ships.rt.submit(stamp(kernel_ns, when.data() + i, where.data() + i)));
  }
  ships.rt.wait_idle();
  std::array<double, devices> last{};
  for (std::size_t i = 0; i < size; ++i) {
    double& end = last[where[i]];
    end = std::max(end, static_cast<double>(when[i] - start));
  }
  std::sort(last.begin(), last.end());
  return last;
}

}  // namespace

void add_balance(suite& to) {
  // Three and a third devices' worth.
  auto const tasks = std::max<std::int64_t>(
      64, static_cast<std::int64_t>(to.amount().kernel_seconds * 2e9 / kernel_ns * 10 / 3));
  struct seen {
    std::vector<double> first{};  // of each pass, the one that is not counted included
    std::size_t next = 0;
  };
  auto const both = std::make_shared<seen>();
  figure_tags tags{
      .who = "flotilla, last", .what = "balance", .devices = devices, .backlog = tasks};
  to.measure("flotilla, last of four devices", tags, [=](figure& at) {
    std::array<double, devices> const each = ends(tasks);
    at.note = each.front() > 0 ? "" : "a device had no task at all";
    both->first.push_back(std::max(each.front(), 1.0));
    return each.back();
  });
  tags.who = "flotilla, first";
  to.measure("flotilla, first of four devices", tags, [=](figure&) {  // of the same passes
    if (both->next == both->first.size()) { throw not_here{"the last device was not measured"}; }
    return both->first[both->next++];
  });
  to.compare({.id = "balance",
              .subject = "flotilla, last of four devices",
              .control = "the device that ends first",
              .controls = {"flotilla, first of four devices"},
              .most_ratio = 1.1,
              .for_gpus = false});
}

}  // namespace flotilla::bench
