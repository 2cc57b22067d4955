// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Host memory runs out while a runtime uses isolated devices. The functions of the forwarding
// driver must return a status, because destructors call them.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "stress/no_memory/allocations.hpp"
#include "support/devices.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

runtime_options isolated_options(int workers) {
  runtime_options made{.devices = device_spec(1), .workers = workers};
  made.settings.all.isolation = isolation::process;
  return made;
}

/// What a case uses. Everything is made before allocations fail.
struct parts {
  explicit parts(int workers)
      : rt{std::in_place, isolated_options(workers)}, program{std::in_place, *rt} {
    values.emplace(*rt, rt->devices()[0], 100u);
    rt->submit(values->fill(0)).wait();
  }
  [[nodiscard]] launch addition() { return program->add.with_shape({1}, {1})(*values, 1u); }

  std::optional<runtime> rt;
  std::optional<test_program> program;
  std::optional<device_buffer<std::uint32_t>> values;
};

void launch_tasks(parts& with) {
  std::vector<ticket> all(10);
  for (auto& each : all) { each = with.rt->submit(with.addition()); }
  for (auto& each : all) { each.wait(); }
}

void use_memory(parts& with) {
  for (std::size_t const size : {100u, 200000u}) {
    device_buffer<int> made{*with.rt, with.rt->devices()[0], size};
    host_buffer<int> pinned{*with.rt, size};
    std::vector<int> pageable(size);
    with.rt->submit(made.fill(1)).wait();
    with.rt->submit(made.copy_to(pinned)).wait();
    with.rt->submit(made.copy_to(std::span<int>(pageable))).wait();
  }
}

void replay(parts& with) {
  recording steps{*with.rt};
  steps.add(with.addition());
  steps.add(with.addition());
  steps.finish();
  steps.replay().wait();
}

void lose_the_device(parts& with) {
  testing::kill_worker(*with.rt, with.rt->devices()[0].ordinal);
  try {
    with.rt->submit(with.addition(), {.repeatable = true}).wait();
  } catch (device_fault const&) {}
}

void end_the_runtime(parts& with) {
  with.values.reset();
  with.program.reset();
  with.rt.reset();
}

/// Runs in a child process. Lets the n-th allocation in `use` fail.
int use_isolated(void (*use)(parts&), int workers, long n, failing kind) {
  bool good = true;
  {
    parts with{workers};
    allocations.start(n, kind);
    good = ends_or_reports([&] { use(with); });
    allocations.stop();
  }
  return !good ? wrong_result : allocations.reached ? survived : not_reached;
}

class NoMemoryIsolated : public ::testing::TestWithParam<std::tuple<int, failing>> {
 protected:
  static int workers() { return std::get<0>(GetParam()); }
  static failing kind() { return std::get<1>(GetParam()); }
  /// A child takes long, because it starts a worker process. So each kind of failure tries other
  /// numbers, and none tries all of them.
  static void check(void (*use)(parts&), long step) {
    long const first = 1 + 2 * workers() + (kind() == failing::once ? 1 : 0);
    auto const child = [use](long n) { return use_isolated(use, workers(), n, kind()); };
    // Without any memory, it takes seconds until a device is given up.
    for_each_allocation(child, first, kind() == failing::once ? step : 3 * step);
  }
  void SetUp() override { FLOTILLA_NEED_CPU_DRIVER(); }
};

// regression: functions of the forwarding driver that are noexcept allocated
TEST_P(NoMemoryIsolated, LaunchesEnd) { check(launch_tasks, 7); }
TEST_P(NoMemoryIsolated, MemoryIsFreed) { check(use_memory, 3); }
TEST_P(NoMemoryIsolated, ReplaysEnd) { check(replay, 5); }
TEST_P(NoMemoryIsolated, ALossIsSurvived) { check(lose_the_device, 37); }
TEST_P(NoMemoryIsolated, TheRuntimeEnds) { check(end_the_runtime, 3); }

INSTANTIATE_TEST_SUITE_P(
    , NoMemoryIsolated,
    ::testing::Combine(::testing::Values(0, 1),
                       ::testing::Values(failing::once, failing::from_then_on)),
    [](auto const& each) {
      return (std::get<0>(each.param) == 0 ? "no_worker" : "one_worker") +
             std::string{std::get<1>(each.param) == failing::once ? "_once" : "_from_then_on"};
    });

}  // namespace
}  // namespace flotilla::test
