// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Small copies that kernels execute: refusals of the driver, faults, cancellation, priorities and
// full windows.

#include <stop_token>

#include "support/child.hpp"
#include "unit/dispatch/device/kernel_copies_fixture.hpp"

namespace flotilla::test {
namespace {

class KernelCopiesFailure : public kernel_copies_test {};

// requirement: if the driver refuses the kernels of copies, copy engines execute the copies
TEST_F(KernelCopiesFailure, RefusedKernelsLoseAndRepeatNothing) {
  runtime rt = make();
  test_program const program{rt};
  small_copies::pipeline(rt, program, device, 20, 1024, 10);
  for (char const* const call :
       {"cuLaunchKernel", "cuGraphLaunch", "cuGraphExecKernelNodeSetParams",
        "cuGraphInstantiateWithFlags", "cuStreamWaitValue64", "cuStreamWriteValue64"}) {
    for (unsigned nth = 1; nth <= 6; ++nth) {
      SCOPED_TRACE(std::string{call} + " " + std::to_string(nth));
      uploads all{rt, 40};
      testing::fail_call(call, nth, driver_status::launch_out_of_resources);
      std::vector<ticket> const done = all.submit(rt);
      for (ticket const& each : done) { EXPECT_NO_THROW(each.wait()); }
      testing::clear_faults();
      EXPECT_EQ(all.arrived(rt), all.all());
    }
  }
}

// requirement: in a pipeline, a refused copy neither fails nor overtakes a kernel
TEST_F(KernelCopiesFailure, RefusedKernelsKeepTheOrder) {
  runtime rt = make();
  test_program const program{rt};
  small_copies::pipeline(rt, program, device, 20, 1024, 10);
  for (unsigned nth = 1; nth <= 8; ++nth) {
    // The tasks of a refused graph are repeated alone.
    testing::fail_call("cuGraphLaunch", nth, driver_status::launch_out_of_resources);
    small_copies::pipeline(rt, program, device, 30, 1024);
    testing::clear_faults();
  }
}

// requirement: if the driver refuses both the kernel and the copy engine, only this copy and its
// successors fail, and the error describes the copy
TEST_F(KernelCopiesFailure, ACopyThatTheDriverRefusesTwiceFailsAlone) {
  runtime rt = make();
  uploads all{rt, 20};
  testing::fail_call("cuGraphLaunch", 1, driver_status::launch_out_of_resources);
  testing::fail_call(upload_call, 3, driver_status::invalid_value);
  std::vector<ticket> const done = all.submit(rt, {.label = "burst"});
  ticket const successor = rt.submit(all.there.fill(1), {.after = {done[2]}});
  std::vector<bool> expected = all.all();
  for (unsigned i = 0; i < done.size(); ++i) {
    if (i != 2) {
      EXPECT_NO_THROW(done[i].wait()) << i;
      continue;
    }
    EXPECT_THAT(thrown<driver_error>([&] { done[i].wait(); }),
                AllOf(StartsWith(upload_call), HasSubstr("label 'burst'"),
                      HasSubstr("a copy of 4096 bytes from the host")));
    expected[i] = false;
  }
  EXPECT_THAT(thrown<dependency_failed>([&] { successor.wait(); }), HasSubstr(upload_call));
  EXPECT_EQ(all.arrived(rt), expected);
}

// requirement: a cancelled copy does not run, and the other copies of its batch do
TEST_F(KernelCopiesFailure, CancelledCopiesDoNotRun) {
  runtime rt = make();
  uploads all{rt, 50};
  std::vector<ticket> const done = all.submit(rt);
  std::vector<bool> expected = all.all();
  for (unsigned i = 0; i < done.size(); i += 7) {
    EXPECT_TRUE(done[i].cancel());
    expected[i] = false;
  }
  for (unsigned i = 0; i < done.size(); ++i) {
    if (expected[i]) {
      EXPECT_NO_THROW(done[i].wait()) << i;
    } else {
      EXPECT_THROW(done[i].wait(), task_cancelled) << i;
    }
  }
  EXPECT_EQ(all.arrived(rt), expected);
}

// stress: threads cancel copies while a worker launches them. Each copy runs or is cancelled.
TEST_F(KernelCopiesFailure, CopiesAreCancelledOrRun) {
  runtime rt = make({.workers = 1});
  for (std::size_t round = scaled(30, 3); round > 0; --round) {
    uploads all{rt, 60};
    std::stop_source stop;
    std::vector<ticket> done = all.submit(rt, {.stop = stop.get_token()});
    stop.request_stop();
    std::vector<bool> ran;
    for (ticket const& each : done) {
      try {
        each.wait();
        ran.push_back(true);
      } catch (task_cancelled const&) { ran.push_back(false); }
    }
    ASSERT_EQ(all.arrived(rt), ran);
  }
}

// requirement: urgent copies are launched before copies that were submitted earlier
TEST_F(KernelCopiesFailure, UrgentCopiesAreLaunchedFirst) {
  runtime rt = make();
  uploads all{rt, 30};
  device_buffer<std::uint8_t> copied{rt, device, all.there.size()};
  std::vector<ticket> done;
  for (unsigned i = 0; i < all.count; ++i) {
    auto const part = all.there.subspan(i * small, small);
    done.push_back(rt.submit(part.copy_to(copied.subspan(i * small, small))));
  }
  for (unsigned i = 0; i < all.count; ++i) {
    done.push_back(rt.submit(all.copy(i), {.priority = -1 - static_cast<int>(i % 2)}));
  }
  for (ticket const& each : done) { each.wait(); }
  EXPECT_EQ(all.arrived(rt), all.all());
  // A CPU device executes one kernel after another, so the copies within the device have seen what
  // the urgent copies have written.
  rt.submit(copied.copy_to(all.down)).wait();
  EXPECT_TRUE(std::equal(all.down.begin(), all.down.end(), all.up.begin()));
}

// requirement: a full window delays the submitting thread, and no copy is lost
TEST_F(KernelCopiesFailure, CopiesWaitForAPlaceInTheWindow) {
  for (int const workers : {0, 1}) {
    runtime rt = make({.workers = workers, .window = 64});
    uploads all{rt, 500};
    for (unsigned i = 0; i < all.count; ++i) { rt.post(all.copy(i)); }
    rt.wait_idle();
    EXPECT_EQ(all.arrived(rt), all.all());
  }
}

// requirement: small copies, staged copies, large copies and callables keep the order of `after`
TEST_F(KernelCopiesFailure, OtherTasksKeepTheirOrderWithSmallCopies) {
  for (int const workers : {0, 2}) {
    runtime rt = make({.workers = workers});
    constexpr unsigned chains = 20;
    constexpr std::size_t large = 100'000;
    std::vector<std::vector<std::uint8_t>> pageable(chains, std::vector<std::uint8_t>(small));
    host_buffer<std::uint8_t> up{rt, chains * small}, between{rt, chains * small};
    device_buffer<std::uint8_t> first{rt, device, chains * small}, big{rt, device, chains * large};
    device_buffer<std::uint8_t> second{rt, device, chains * small};
    std::vector<ticket> done;
    for (unsigned i = 0; i < chains; ++i) {
      std::size_t const at = i * small;
      std::fill_n(up.begin() + at, small, std::uint8_t(i + 1));
      auto const here = first.subspan(at, small);
      auto const there = big.subspan(i * large, small);
      ticket const sent = rt.submit(here.copy_from(up.subspan(at, small)));
      ticket const filled = rt.submit(big.subspan(i * large, large).fill(0), {.after = {sent}});
      ticket const moved = rt.submit(here.copy_to(there), {.after = {filled}});
      ticket const down = rt.submit(there.copy_to(between.subspan(at, small)), {.after = {moved}});
      ticket const called = rt.submit([](task_context&) {}, {.after = {down}});
      ticket const again = rt.submit(
          second.subspan(at, small).copy_from(between.subspan(at, small)), {.after = {called}});
      done.push_back(rt.submit(second.subspan(at, small).copy_to(pageable[i]), {.after = {again}}));
    }
    for (unsigned i = 0; i < chains; ++i) {
      done[i].wait();
      EXPECT_EQ(std::count(pageable[i].begin(), pageable[i].end(), std::uint8_t(i + 1)),
                std::ptrdiff_t{small})
          << i;
    }
  }
}

// requirement: if the kernel of copies faults, the suspects are described as copies
TEST_F(KernelCopiesFailure, SuspectsOfAFaultAreCopies) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt = make();
    uploads all{rt, 20};
    testing::fault_kernel(testing::cpu_device{0}, 1, driver_status::illegal_address);
    std::vector<ticket> const done = all.submit(rt, {.label = "burst"});
    EXPECT_THAT(thrown<poisoned>([&] { done[3].wait(); }),
                HasSubstr("20 tasks: a copy of 4096 bytes from the host, label 'burst'."));
  });
}

}  // namespace
}  // namespace flotilla::test
