// Launches that go out together: every one runs once, in its place, and a refusal is its own.

#include <flotilla/flotilla.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "dispatch/lane.hpp"
#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
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

/// Waits for a chain of steps (`value * 3 + place`): up to one that failed they ran, behind it none did.
/// @param value  What they started from; brought to what they must have made of it. @return whether one failed.
bool breaks_once(std::vector<ticket> const& chain, std::uint32_t& value) {
  bool broken = false;
  for (unsigned i = 0; i < chain.size(); ++i) {
    try {
      chain[i].wait();
      EXPECT_FALSE(broken) << "task " << i << " ran behind one that failed";
      value = value * 3 + i;
    } catch (dependency_failed const&) {
      EXPECT_TRUE(broken) << "task " << i;
    } catch (driver_error const&) {
      EXPECT_FALSE(broken) << "task " << i;
      broken = true;
    }
  }
  return broken;
}

// regression: a chain's first template was not launched, one of its tasks failed alone, and what was behind that went with the
// next template
TEST_F(Batches, WhatIsBehindALaunchThatFailedTwiceDoesNotRun) {
  FLOTILLA_NEED_CPU_DRIVER();
  constexpr unsigned links = 45;  // two templates
  runtime rt{{.devices = "cpu:1", .workers = 0}};
  test_program const program{rt};
  device_buffer<std::uint32_t> const value{rt, device_ordinal{0}, 1};
  auto const submit_chain = [&] {
    std::vector<ticket> chain;
    for (unsigned i = 0; i < links; ++i) {
      task_options how;
      if (!chain.empty()) { how.after.add(chain.back()); }
      chain.push_back(rt.submit(program.step.on({1}, {1})(value, 3u, i), how));
    }
    return chain;
  };
  for (int i = 0; i < 5; ++i) { submit_chain().back().wait(); }  // batches have grown
  for (unsigned const nth : {1u, 16u, 31u, 32u, 33u, 45u}) {
    rt.submit(value.fill(1)).wait();
    std::uint32_t expected = 1;
    inject("fail=cuGraphLaunch@1:CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,fail=cuLaunchKernel@" + std::to_string(nth) +
           ":CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    std::vector<ticket> const chain = submit_chain();
    breaks_once(chain, expected);
    clear_injection();
    EXPECT_EQ(read(rt, value), std::vector<std::uint32_t>{expected}) << "launch " << nth;
  }
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
    bool const broken = breaks_once(chain, expected);
    clear_injection();
    EXPECT_TRUE(broken) << "rewrite " << nth;
    EXPECT_EQ(read(rt, value)[0], expected) << "rewrite " << nth;
  }
}

// requirement: a chain whose head had to wait is still one, and rides in batches
TEST_F(Batches, HoldChainsThatWereParked) {
  runtime rt{options()};
  test_program const program{rt};
  constexpr std::uint32_t links = 1000;
  for (int i = 0; i < 20; ++i) {  // until the kernel's length is known
    for (int k = 0; k < 100; ++k) { static_cast<void>(rt.submit(program.nothing.on({1}, {1})())); }
    rt.wait_idle();
  }
  device_buffer<std::uint32_t> const value{rt, device_ordinal{0}, 1};
  for (int i = 0; i < 20; ++i) { rt.submit(program.step.on({1}, {1})(value, 1u, 0u)).wait(); }
  rt.submit(value.fill(1)).wait();
  std::uint64_t const before = rt.counters(device_ordinal{0}).batches;
  // A callable runs behind the launches of its pass: each link is parked on the one before.
  ticket ahead = rt.submit([](task_context&) {}, {.device = device_ordinal{0}});
  std::uint32_t expected = 1;
  for (std::uint32_t i = 0; i < links; ++i) {
    task_options how{.device = device_ordinal{0}};
    how.after.add(ahead);
    ahead = rt.submit(program.step.on({1}, {1})(value, 3u, i), how);
    expected = expected * 3 + i;
  }
  ahead.wait();
  // Released one by one they are as many batches as links. How deep a batch is else follows from how long the kernel
  // takes, and so from how busy the machine is.
  EXPECT_LT(rt.counters(device_ordinal{0}).batches - before, links * 3 / 4);
  EXPECT_EQ(read(rt, value)[0], expected);
}

// requirement: a template need not be full, and one that is not runs nothing twice
TEST_F(Batches, OfEverySizeRunEachTaskOnce) {
  runtime rt{options()};
  program const loaded = rt.load(test_image());
  auto const count = loaded.kernel<std::uint32_t*, std::uint32_t>("count_id");
  device_buffer<std::uint32_t> const counters{rt, device_ordinal{0}, tasks};
  for (int i = 0; i < 20; ++i) { static_cast<void>(run(rt, count, counters)); }  // batches have grown
  for (unsigned size = 1; size <= 64; ++size) {
    rt.submit(counters.fill(0)).wait();
    for (unsigned i = 0; i < size; ++i) { static_cast<void>(rt.submit(count.on({1}, {1})(counters, i))); }
    rt.wait_idle();
    std::vector<std::uint32_t> expected(tasks, 0);
    std::fill_n(expected.begin(), size, 1u);
    ASSERT_EQ(read(rt, counters), expected) << size;
  }
}

// requirement: a fault while launches are staged: what was to run behind them ends too, and nobody looks for ever for
// launches that will not come
TEST_F(Batches, AFaultEndsWhatIsBehindStagedLaunches) {
  FLOTILLA_NEED_CPU_DRIVER();
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{options()};
    test_program const program{rt};
    host_buffer<std::uint32_t> words{rt, 2};
    device_buffer<std::uint32_t> const value{rt, device_ordinal{0}, 1};
    launch const nothing = program.nothing.on({1}, {1})();
    for (int i = 0; i < 50; ++i) {  // its length is known: launches of it are staged
      for (int k = 0; k < 10; ++k) { static_cast<void>(rt.submit(nothing)); }
      rt.wait_idle();
    }
    // In one pass: two that go out alone on lanes of their own, one staged behind each, a launch that faults,
    // and one behind both of those staged.
    inject("fail=cuGraphLaunch@3:CUDA_ERROR_ILLEGAL_ADDRESS");
    launch const held = program.hold.on({1}, {1})(words.data());
    ticket const first = rt.submit(held);
    ticket const second = rt.submit(held);
    ticket const behind_first = rt.submit(nothing, {.after = {first}});
    ticket const behind_second = rt.submit(nothing, {.after = {second}});
    ticket const faulty = rt.submit(program.write.on({1}, {1})(value, 1u));
    ticket const last = rt.submit(nothing, {.after = {behind_first, behind_second}});
    EXPECT_THROW(last.wait(), poisoned);
    EXPECT_THROW(faulty.wait(), poisoned);
    clear_injection();
    std::atomic_ref{words[1]} = 1u;
  });
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

// requirement: where the device has room, what is behind a long kernel does not ride with it: its end is seen when it ends
TEST_F(Batches, WhatIsBehindALongKernelDoesNotDelayItsEnd) {
  runtime rt{options()};
  test_program const program{rt};
  std::deque<held_word> all;  // their memory is not freed while a kernel is held: that waits for the device
  for (int i = 0; i < 3; ++i) {  // until it is known to take long
    held_word& held = all.emplace_back(rt);
    ticket const seen = rt.submit(held.launch_of(program));
    EXPECT_TRUE(eventually([&] {
      static_cast<void>(rt.pump());
      return held.started();
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    held.release();
    seen.wait();
  }
  held_word first{rt};
  held_word second{rt};
  first.release();
  ticket const ahead = rt.submit(first.launch_of(program));
  ticket const behind = rt.submit(second.launch_of(program), {.after = {ahead}});
  EXPECT_TRUE(ahead.wait_for(std::chrono::seconds{20}));
  EXPECT_FALSE(behind.ready());
  second.release();
  behind.wait();
}

}  // namespace
}  // namespace flotilla::test
