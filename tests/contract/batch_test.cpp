// Launches that go out together: every one runs once, in its place, and a refusal is its own.

#include <flotilla/flotilla.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "dispatch/lane.hpp"
#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class Batches : public guest_test {
 protected:
  static constexpr unsigned tasks = 200;
  static runtime_options options() { return {.devices = device_spec(1), .workers = 0}; }

  /// Submits a task for each counter, has all run, and says which failed.
  std::vector<bool> run(runtime& rt, kernel<std::uint32_t*, std::uint32_t> const& count,
                        device_buffer<std::uint32_t> const& counters) {
    std::vector<ticket> open;
    for (unsigned i = 0; i < tasks; ++i) { open.push_back(rt.submit(count.on({1}, {1})(counters, i))); }
    std::vector<bool> failed;
    for (ticket const& each : open) {
      try {
        each.wait();
        failed.push_back(false);
      } catch (driver_error const& why) {
        EXPECT_EQ(why.status(), driver_status::launch_out_of_resources) << why.what();
        failed.push_back(true);
      }
    }
    return failed;
  }
  static std::vector<std::uint32_t> read(runtime& rt, device_buffer<std::uint32_t> const& from) {
    std::vector<std::uint32_t> host(from.size());
    rt.submit(from.copy_to(host)).wait();
    return host;
  }
};

// requirement
TEST_F(Batches, FoldFloodsIntoFewLaunches) {
  runtime rt{options()};
  test_program const program{rt};
  launch const nothing = program.nothing.on({1}, {1})();
  for (int i = 0; i < 2000; ++i) { static_cast<void>(rt.submit(nothing)); }
  rt.wait_idle();
  device_counters const counted = rt.counters(device_ordinal{0});
  EXPECT_EQ(counted.tasks, 2000u);
  EXPECT_LT(counted.batches, 1000u) << "a batch holds more than one or two of them";
}

// requirement: a node that could not be rewritten holds an earlier task, which must not run again; the ticket of
// the one that was refused, and no other, says so
TEST_F(Batches, ARewriteThatFailsIsOneTasksOwn) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options()};
  program const loaded = rt.load(test_image());
  auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> const counters{rt, device_ordinal{0}, tasks};
  for (unsigned nth = 1; nth < tasks; nth += 7) {
    rt.submit(counters.fill(0)).wait();
    inject("fail=cuGraphExecKernelNodeSetParams@" + std::to_string(nth) + ":CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    std::vector<bool> const failed = run(rt, count, counters);
    clear_injection();
    EXPECT_EQ(std::count(failed.begin(), failed.end(), true), 1) << "rewrite " << nth;
    std::vector<std::uint32_t> const ran = read(rt, counters);
    for (unsigned i = 0; i < tasks; ++i) {
      ASSERT_EQ(ran[i], failed[i] ? 0u : 1u) << "task " << i << ", rewrite " << nth;
    }
  }
}

// requirement: a template that cannot be launched launches none of its tasks; they go one by one
TEST_F(Batches, ALaunchThatFailsLosesAndRepeatsNothing) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options()};
  program const loaded = rt.load(test_image());
  auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> const counters{rt, device_ordinal{0}, tasks};
  for (char const* const entry : {"cuGraphLaunch", "cuGraphExecBatchMemOpNodeSetParams"}) {
    for (unsigned nth = 1; nth < 8; ++nth) {
      rt.submit(counters.fill(0)).wait();
      inject("fail=" + std::string{entry} + "@" + std::to_string(nth) + ":CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
      std::vector<bool> const failed = run(rt, count, counters);
      clear_injection();
      EXPECT_EQ(std::count(failed.begin(), failed.end(), true), 0) << entry << " " << nth;
      EXPECT_EQ(read(rt, counters), std::vector<std::uint32_t>(tasks, 1)) << entry << " " << nth;
    }
  }
}

// requirement: the same where the single launch fails, too: each its own status
TEST_F(Batches, ALaunchThatFailsTwiceFailsOneTask) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options()};
  program const loaded = rt.load(test_image());
  auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> const counters{rt, device_ordinal{0}, tasks};
  rt.submit(counters.fill(0)).wait();
  for (int i = 0; i < 20; ++i) { static_cast<void>(run(rt, count, counters)); }  // batches have grown
  rt.submit(counters.fill(0)).wait();
  inject("fail=cuGraphLaunch@2:CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,"
         "fail=cuLaunchKernel@3:CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
  std::vector<bool> const failed = run(rt, count, counters);
  clear_injection();
  EXPECT_EQ(std::count(failed.begin(), failed.end(), true), 1);
  std::vector<std::uint32_t> const ran = read(rt, counters);
  for (unsigned i = 0; i < tasks; ++i) { ASSERT_EQ(ran[i], failed[i] ? 0u : 1u) << "task " << i; }
}

// requirement: a chain rides in one batch, and what is behind a task that was refused does not run
TEST_F(Batches, WhatIsBehindARefusedTaskDoesNotRun) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options()};
  test_program const program{rt};
  device_buffer<std::uint32_t> const value{rt, device_ordinal{0}, 1};
  for (unsigned nth = 1; nth < 60; nth += 3) {
    rt.submit(value.fill(1)).wait();
    std::uint32_t expected = 1;
    std::vector<ticket> chain;
    inject("fail=cuGraphExecKernelNodeSetParams@" + std::to_string(nth) + ":CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    for (unsigned i = 0; i < 60; ++i) {
      task_options how;
      if (!chain.empty()) { how.after.add(chain.back()); }
      chain.push_back(rt.submit(program.step.on({1}, {1})(value, 3u, i), how));
    }
    bool broken = false;
    for (unsigned i = 0; i < 60; ++i) {
      try {
        chain[i].wait();
        EXPECT_FALSE(broken) << "task " << i << " ran behind one that failed";
        expected = expected * 3 + i;
      } catch (dependency_failed const&) {
        EXPECT_TRUE(broken);
      } catch (driver_error const&) {
        EXPECT_FALSE(broken);
        broken = true;
      }
    }
    clear_injection();
    EXPECT_TRUE(broken) << "rewrite " << nth;
    EXPECT_EQ(read(rt, value)[0], expected) << "rewrite " << nth;
  }
}

// requirement: numbers of lanes have 64 bits; half of them full is no event
TEST_F(Batches, CountPastThirtyTwoBits) {
  struct counters_begin_late {
    counters_begin_late() { dispatch::completion_page::first_number = (std::uint64_t{1} << 32) - 20; }
    ~counters_begin_late() { dispatch::completion_page::first_number = 0; }
  } const late;
  runtime rt{options()};
  program const loaded = rt.load(test_image());
  auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> const counters{rt, device_ordinal{0}, tasks};
  rt.submit(counters.fill(0)).wait();
  for (std::uint32_t round = 1; round <= 30; ++round) {
    static_cast<void>(run(rt, count, counters));
    ASSERT_EQ(read(rt, counters), std::vector<std::uint32_t>(tasks, round));
  }
}

// requirement: tasks that promise nothing to each other may be in one batch, and yet see what they run behind
TEST_F(Batches, KeepOrderAcrossLanesAndBatches) {
  runtime rt{options()};
  test_program const program{rt};
  constexpr unsigned chains = 16;
  constexpr unsigned links = 40;
  device_buffer<std::uint32_t> const values{rt, device_ordinal{0}, chains};
  rt.submit(values.fill(1)).wait();
  std::vector<std::vector<ticket>> all(chains);
  for (unsigned link = 0; link < links; ++link) {
    for (unsigned c = 0; c < chains; ++c) {
      task_options how;
      if (!all[c].empty()) { how.after.add(all[c].back()); }
      if (link % 5 == 4) { how.after.add(all[(c + 1) % chains].back()); }  // and behind a neighbour
      auto* const where = reinterpret_cast<std::uint32_t*>(values.address()) + c;
      all[c].push_back(rt.submit(program.step.on({1}, {1})(where, 3u, link), how));
    }
  }
  rt.wait_idle();
  std::uint32_t expected = 1;
  for (unsigned link = 0; link < links; ++link) { expected = expected * 3 + link; }
  EXPECT_EQ(read(rt, values), std::vector<std::uint32_t>(chains, expected));
}

}  // namespace
}  // namespace flotilla::test
