// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Host memory runs out: one allocation fails, or every allocation from some point on fails. No call
// may then hang or end the process, whatever the runtime is doing.
//
// This is a program of its own, because it replaces the global operator new (allocations.hpp). Each
// case runs in a child process. The parent process never uses flotilla.

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "stress/no_memory/allocations.hpp"
#include "support/child.hpp"
#include "support/devices.hpp"

namespace flotilla::test {
namespace {

runtime_options options(int workers) { return {.devices = device_spec(2), .workers = workers}; }

constexpr auto do_nothing = [](task_context&) {};

void submit_tasks(runtime& rt) {
  for (unsigned i = 0; i < 20; ++i) {
    ticket const first = rt.submit(do_nothing, {.device = device_ordinal{i % 2}});
    ticket const second = rt.submit(do_nothing, {.after = {first}});
    second.wait();
  }
}

void post_tasks(runtime& rt) {
  for (int i = 0; i < 50; ++i) { rt.post(do_nothing); }
  rt.wait_idle();
}

void move_data(runtime& rt) {
  device_buffer<int> device{rt, device_ordinal{0}, 1000};
  host_buffer<int> pinned{rt, 1000};
  std::vector<int> pageable(1000);
  ticket const filled = rt.submit(device.fill(1));
  ticket const copied = rt.submit(device.copy_to(pinned), {.after = {filled}});
  copied.wait();
  rt.submit(device.copy_to(std::span<int>(pageable))).wait();
}

void continue_tasks(runtime& rt) {
  ticket const first = rt.submit(do_nothing);
  first.then([](std::exception_ptr) {});
  rt.wait_idle();
}

void fail_tasks(runtime& rt) {
  ticket const failed = rt.submit([](task_context&) { throw std::runtime_error("expected"); });
  ticket const dependent = rt.submit(do_nothing, {.after = {failed}});
  try {
    dependent.wait();
  } catch (dependency_failed const&) {}
}

/// Calls `call` again if there was no memory: the first call must then have changed nothing.
template <class Call>
auto retried(Call const& call) {
  try {
    return call();
  } catch (std::bad_alloc const&) { return call(); }
}

/// Divides and reduces data of a flow on devices with little memory. @throws std::logic_error  The
/// results are wrong.
void use_flow(runtime& rt) {
  constexpr std::size_t n = 8;
  constexpr int rounds = 2;
  std::vector<int> host(n * n, 1);
  flow flow{rt, {.memory_limit = std::size_t{2} * 512}};
  data<int, 2> all{flow, host, {n, n}, "all"};
  data<int> sum{flow, {n}, "sum"};
  auto const count = [](view<int, 2> tile, view<int> partial) {
    for (std::size_t i = 0; i < tile.extents[0]; ++i) {
      for (std::size_t j = 0; j < tile.extents[1]; ++j) { ++tile(i, j); }
    }
    for (std::size_t i = 0; i < partial.size(); ++i) { ++partial(i); }
  };
  auto const nothing = [](task_context&, view<int>) {};
  for (unsigned round = 0; round < rounds; ++round) {
    auto tiles = retried([&] { return all.tiles({n, n / 2}); });
    device_ordinal const device{round % 2};
    for (auto& tile : tiles) {
      retried([&] { tile.prefetch_to(device); });
    }
    retried([&] { flow.post(uses(reduce(sum)), nothing, {.device = device}); });
    retried([&] { flow.post(uses(update(tiles(0, 0)), reduce(sum)), host_task(count)); });
  }
  view<int const, 2> const whole = retried([&] { return all.host(); });
  view<int const> const total = retried([&] { return sum.host(); });
  for (std::size_t i = 0; i < n; ++i) {
    int const expected = i < n / 2 ? 1 + rounds : 1;
    if (whole(i, i) != expected || total(i) != rounds) { throw std::logic_error("wrong"); }
  }
}

/// The following functions run in a child process. This function lets the n-th allocation in `use`
/// fail.
int use_runtime(void (*use)(runtime&), int workers, long n, failing kind) {
  bool good = true;
  {
    runtime rt{options(workers)};
    allocations.start(n, kind);
    good = ends_or_reports([&] { use(rt); });
    allocations.stop();
  }
  {
    // After the failure, the process can use another runtime.
    runtime rt{options(workers)};
    rt.submit(do_nothing).wait();
  }
  return !good ? wrong_result : allocations.reached ? survived : not_reached;
}

/// Lets the n-th allocation in the constructor or destructor of a runtime fail.
int make_runtime(int workers, long n, failing kind) {
  allocations.start(n, kind);
  bool const good = ends_or_reports([&] { runtime const rt{options(workers)}; });
  allocations.stop();
  return !good ? wrong_result : allocations.reached ? survived : not_reached;
}

class NoMemory : public ::testing::TestWithParam<std::tuple<int, failing>> {
 protected:
  static int workers() { return std::get<0>(GetParam()); }
  static failing kind() { return std::get<1>(GetParam()); }
  static void check(void (*use)(runtime&)) {
    for_each_allocation([use](long n) { return use_runtime(use, workers(), n, kind()); });
  }
  void SetUp() override { FLOTILLA_NEED_CPU_DRIVER(); }
};

// regression: contexts of the CPU driver waited for streams that were only half created
TEST_P(NoMemory, TheConstructorThrows) {
  for_each_allocation([](long n) { return make_runtime(workers(), n, kind()); });
}

// regression: a pass lost tasks that it had taken from an inbox, so a wait never returned. On a
// worker, std::bad_alloc ended the process
TEST_P(NoMemory, WaitsEnd) { check(submit_tasks); }
TEST_P(NoMemory, PostedTasksEnd) { check(post_tasks); }
TEST_P(NoMemory, CopiesEnd) { check(move_data); }
TEST_P(NoMemory, ContinuationsEnd) { check(continue_tasks); }
TEST_P(NoMemory, FailuresEnd) { check(fail_tasks); }
TEST_P(NoMemory, FlowsLoseNothing) { check(use_flow); }

INSTANTIATE_TEST_SUITE_P(
    , NoMemory,
    ::testing::Combine(::testing::Values(0, 1),
                       ::testing::Values(failing::once, failing::from_then_on)),
    [](auto const& each) {
      return (std::get<0>(each.param) == 0 ? "no_worker" : "one_worker") +
             std::string{std::get<1>(each.param) == failing::once ? "_once" : "_from_then_on"};
    });

}  // namespace
}  // namespace flotilla::test
