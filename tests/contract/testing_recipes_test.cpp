// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The code of docs/testing.md, and what fault injection promises besides.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/cluster/cluster.hpp>
#include <flotilla/data/flow.hpp>
#include <flotilla/testing/fault_injection.hpp>
#include <flotilla/testing/loop_transport.hpp>

#include "support/child.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;
/// A kernel with a shape, as `program::kernel` returns it in a program.
struct recipe_kernel {
  test_program const& program;
  struct shaped {
    test_program const& program;
    launch operator()(device_buffer<std::uint32_t>& to, std::uint32_t) const {
      return program.add.with_shape({1}, {1})(to, 1u);
    }
  };
  [[nodiscard]] shaped over(std::uint32_t) const { return {program}; }
};

class TestingRecipes : public guest_test {
 protected:
  using clock = std::chrono::steady_clock;
  static constexpr device_ordinal hung_device{0};
  static constexpr std::uint32_t n = 64;

  void SetUp() override {
    FLOTILLA_NEED_CPU_DRIVER();
    guest_test::SetUp();
  }
  void TearDown() override {
    testing::clear_faults();
    guest_test::TearDown();
  }

  static runtime_options options() { return {.devices = device_spec(1), .stuck_after = 20ms}; }
  /// Submits many tasks. @return how many failed.
  static std::size_t run_program(runtime& rt) {
    device_buffer<std::uint32_t> sum{rt, hung_device, 1};
    rt.submit(sum.fill(0)).wait();
    test_program const program{rt};
    std::vector<ticket> tasks;
    for (int i = 0; i < 100; ++i) {
      tasks.push_back(rt.submit(program.add.with_shape({1}, {1})(sum, 1u)));
    }
    std::size_t failed = 0;
    for (ticket const& each : tasks) {
      try {
        each.wait();
      } catch (driver_error const&) { ++failed; }
    }
    return failed;
  }
};

// requirement
TEST_F(TestingRecipes, CallsFail) {
  runtime rt{options()};
  // recipe
  testing::fail_call("cuGraphLaunch", 2, driver_status::out_of_memory);
  // end of the recipe
  EXPECT_EQ(run_program(rt), 0u);
  testing::clear_faults();
  std::vector<std::uint32_t> const values(n);
  device_buffer<std::uint32_t> x{rt, hung_device, n};
  auto seen = driver_status::success;
  // recipe
  testing::fail_call("cuMemcpyHtoDAsync", 1, driver_status::invalid_value);
  ticket const copy = rt.submit(x.copy_from(values), {.batch = false});
  try {
    copy.wait();
  } catch (driver_error const& why) { seen = why.status(); }
  // end of the recipe
  EXPECT_EQ(seen, driver_status::invalid_value);
}

// requirement
TEST_F(TestingRecipes, AKernelHangs) {
  runtime rt{options()};
  test_program const program{rt};
  recipe_kernel const step{program};
  device_buffer<std::uint32_t> y{rt, hung_device, n};
  rt.submit(y.fill(0)).wait();
  bool has_timed_out = false;
  // recipe
  testing::hang_kernel(rt.devices()[0], 1);
  ticket const hung = rt.submit(step.over(n)(y, n));
  ticket const late = rt.submit(
      host_task([] {}), {.after = {hung}, .deadline = std::chrono::steady_clock::now() + 20ms});
  try {
    late.wait();
  } catch (timed_out const&) { has_timed_out = true; }
  while (health(rt, hung_device) != device_health::stuck) { std::this_thread::yield(); }
  testing::release_kernels(rt.devices()[0]);
  hung.wait();
  // end of the recipe
  EXPECT_TRUE(has_timed_out);
  testing::hang_kernel(rt.devices()[0], 1, 30ms);
  auto const begun = clock::now();
  rt.submit(step.over(n)(y, n)).wait();
  EXPECT_GE(clock::now() - begun, 30ms);
}

// requirement
TEST_F(TestingRecipes, ACompletionIsLost) {
  runtime rt{options()};
  test_program const program{rt};
  recipe_kernel const step{program};
  device_buffer<std::uint32_t> y{rt, hung_device, n};
  rt.submit(y.fill(0)).wait();
  // A launch that is timed by events is not lost, because the events report its end as well.
  // regression: on a busy machine, this may be any launch of a kernel
  std::string printed;
  auto const end = clock::now() + test_timeout;
  while (printed.empty() && clock::now() < end) {
    ::testing::internal::CaptureStderr();
    // recipe
    testing::lose_completion(rt.devices()[0], 1);
    rt.submit(step.over(n)(y, n)).wait();
    // end of the recipe
    printed = ::testing::internal::GetCapturedStderr();
  }
  EXPECT_THAT(printed, HasSubstr("did not report that this work ended"));
}

// requirement
TEST_F(TestingRecipes, AWorkerIsKilled) {
  runtime_options isolated_options = options();
  isolated_options.settings.all.isolation = isolation::process;
  isolated_options.stuck_after = 0ms;  // a busy machine may delay a kernel of the worker
  runtime rt{std::move(isolated_options)};
  device_ordinal const isolated_device{0};
  test_program const program{rt};
  recipe_kernel const step{program};
  device_buffer<std::uint32_t> y{rt, isolated_device, n};
  rt.submit(y.fill(0)).wait();
  // recipe
  testing::kill_worker(rt, isolated_device);
  rt.submit(step.over(n)(y, n), {.repeatable = true}).wait();
  // end of the recipe
}

// requirement
TEST_F(TestingRecipes, DevicesAndLinksAreSlow) {
  runtime rt{options()};
  std::vector<std::uint32_t> const values(250'000);
  device_buffer<std::uint32_t> x{rt, hung_device, values.size()};
  // recipe
  testing::slow_kernels(rt.devices()[0], 3);           // kernels take three times as long
  testing::slow_copies(rt.devices()[0], 100'000'000);  // copies take at least 10 ns a byte
  testing::delay_calls("cuLaunchKernel", 200us);       // each of these calls takes 200 us longer
  testing::limit_memory(rt.devices()[0], 64u << 20);   // the device has 64 MiB
  // end of the recipe
  auto const begun = clock::now();
  rt.submit(x.copy_from(values)).wait();
  EXPECT_GE(clock::now() - begun, 10ms) << "1 MB at 100 MB/s";
  EXPECT_THROW((device_buffer<std::uint32_t>{rt, hung_device, 20u << 20}), driver_error);
}

// requirement
TEST_F(TestingRecipes, BlocksRunInTheOtherOrder) {
  runtime rt{options()};
  test_program const program{rt};
  device_buffer<std::uint32_t> turns{rt, hung_device, 1 + 4};
  rt.submit(turns.fill(0)).wait();
  // recipe
  testing::reverse_blocks(rt.devices()[0]);  // the last block of a grid runs first
  // end of the recipe
  rt.submit(program.loaded.kernel<std::uint32_t*>("note_blocks").over(4, 1)(turns)).wait();
  std::vector<std::uint32_t> host(turns.size());
  rt.submit(turns.copy_to(host)).wait();
  EXPECT_EQ(host, (std::vector<std::uint32_t>{4, 4, 3, 2, 1}));
}

// requirement: mixes depend only on their arguments
TEST_F(TestingRecipes, MixesDependOnTheirSeed) {
  runtime rt{options()};
  constexpr std::uint64_t seeds = 5;
  // recipe
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::string const faults = testing::inject_random(seed);
    std::size_t const failed = run_program(rt);
    testing::clear_faults();
    if (failed > 8) { ADD_FAILURE() << "seed " << seed << ": " << faults; }
  }
  // end of the recipe
  std::string const one = testing::inject_random(7, {.fault = false});
  EXPECT_EQ(testing::inject_random(7), one);
  EXPECT_NE(testing::inject_random(8), one);
  testing::clear_faults();
  EXPECT_THAT(thrown<invalid_argument>([] { testing::inject_random(1, {.devices = 0}); }),
              HasSubstr("devices is 0"));
  EXPECT_THAT(thrown<invalid_argument>([] { testing::inject_random(1, {.among_calls = 0}); }),
              HasSubstr("among_calls is 0"));
}

// requirement: a program runs as several ranks of one process
TEST_F(TestingRecipes, RanksInOneProcess) {
  std::atomic<std::uint32_t> seen{0};
  auto const simulate = [&seen](runtime&, cluster& all) {
    flow over{all};
    data<std::uint32_t> x{over, {n}, "x"};
    over.post(uses(write(x)), host_task([](view<std::uint32_t> out) { out(5) = 3; }), {.rank = 1});
    if (all.rank() == 0) { seen += x.host()(5); }
  };
  // recipe
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    testing::loop ranks{2, {.seed = seed}};
    auto const run_rank = [&](int rank) {
      runtime rt{{.devices = "cpu:1"}};
      cluster all{rt, ranks.rank(rank)};  // instead of flotilla::mpi
      all.run([&] { simulate(rt, all); });
    };
    std::thread other{run_rank, 1};
    run_rank(0);
    other.join();
  }
  // end of the recipe
  EXPECT_EQ(seen, 30u);
}

// requirement
TEST_F(TestingRecipes, AKernelFaults) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{options()};
    test_program const program{rt};
    recipe_kernel const step{program};
    device_buffer<std::uint32_t> y{rt, hung_device, n};
    rt.submit(y.fill(0)).wait();
    auto seen = driver_status::success;
    // recipe
    testing::fault_kernel(rt.devices()[0], 1, driver_status::illegal_address);
    ticket const task = rt.submit(step.over(n)(y, n));
    try {
      task.wait();
    } catch (poisoned const& why) { seen = why.status(); }
    // end of the recipe
    EXPECT_EQ(seen, driver_status::illegal_address);
  });
}

// requirement: bad arguments are refused and named
TEST_F(TestingRecipes, BadArgumentsAreRefused) {
  testing::cpu_device const bad{-1}, good{0};
  EXPECT_THAT(thrown<invalid_argument>([&] { testing::hang_kernel(bad, 1); }),
              HasSubstr("device is -1"));
  EXPECT_THAT(thrown<invalid_argument>([&] { testing::hang_kernel(good, 0); }),
              HasSubstr("nth is 0"));
  EXPECT_THAT(thrown<invalid_argument>([&] { testing::hang_kernel(good, 1, -1us); }),
              HasSubstr("time is -1 us"));
  EXPECT_THAT(thrown<invalid_argument>([&] { testing::release_kernels(testing::cpu_device{64}); }),
              HasSubstr("device 64"));
  EXPECT_THAT(thrown<invalid_argument>([&] { testing::slow_copies(good, 0); }),
              HasSubstr("bytes_per_second is 0"));
  EXPECT_THAT(thrown<invalid_argument>([&] { testing::lose_completion(good, 0); }),
              HasSubstr("nth is 0"));
  runtime const rt{options()};
  EXPECT_THAT(thrown<invalid_argument>([&] { testing::kill_worker(rt, hung_device); }),
              HasSubstr("device 0 has no worker process"));
}

}  // namespace
}  // namespace flotilla::test
