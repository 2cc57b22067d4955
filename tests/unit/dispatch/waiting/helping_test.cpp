// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A waiting thread can do all the work of a worker. So its wait ends even if there are no workers.

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include <atomic>
#include <thread>

#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/inside.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

/// A fixture for runtimes without workers. Each test creates its own runtime.
class Helping : public guest_test {
 protected:
  static runtime_options options(int devices, std::size_t window = 16384) {
    return {.devices = "cpu:" + std::to_string(devices), .workers = 0, .window = window};
  }
  /// Submits `count` callables on a thread that ends without waiting for them.
  static void submit_and_leave(runtime& rt, int count, std::atomic<int>& ran,
                               task_options const& with = {}) {
    std::thread{[&] {
      for (int i = 0; i < count; ++i) {
        static_cast<void>(rt.submit([&ran](task_context&) { ++ran; }, with));
      }
    }}.join();
  }
};

// regression: a thread had filled the window with callables and ended. Then `submit` on another
// thread never returned.
TEST_F(Helping, OfASubmitEmptiesAWindowThatOthersFilled) {
  runtime rt{options(1, 64)};
  std::atomic<int> ran{0};
  submit_and_leave(rt, 64, ran);
  rt.submit([&](task_context&) { ++ran; }).wait();
  rt.wait_idle();
  EXPECT_EQ(ran, 65);
}

// regression: a thread had submitted callables and ended. Then a wait for a later shared task never
// ended.
TEST_F(Helping, OfAWaitMakesRoomForTasksOfAnyDevice) {
  runtime rt{options(2)};
  std::atomic<int> ran{0};
  submit_and_leave(rt, 64, ran);
  rt.submit([&](task_context&) { ++ran; }).wait();
  rt.wait_idle();
  EXPECT_EQ(ran, 65);
}

// regression: wait_idle and the runtime's destructor did not run callables of threads that had
// ended
TEST_F(Helping, OfWaitIdleAndOfTheDestructorRunsEverybodysCallables) {
  std::atomic<int> ran{0};
  {
    runtime rt{options(2)};
    submit_and_leave(rt, 10, ran, {.device = device_ordinal{1}});
    rt.wait_idle();
    EXPECT_EQ(ran, 10);
    submit_and_leave(rt, 10, ran);
  }
  EXPECT_EQ(ran, 20);
}

// requirement: try_submit runs no callables of other threads
TEST_F(Helping, OfATrySubmitRunsNoCallables) {
  runtime rt{options(1, 64)};
  std::atomic<int> ran{0};
  submit_and_leave(rt, 64, ran);
  EXPECT_FALSE(rt.try_submit([&](task_context&) { ++ran; }).has_value());
  EXPECT_EQ(ran, 0);
  rt.wait_idle();
  EXPECT_EQ(ran, 64);
  EXPECT_TRUE(rt.try_submit([&](task_context&) { ++ran; }).has_value());
  rt.wait_idle();
}

// regression: on every device, a callable waited for a shared task. No wait was refused.
TEST_F(Helping, RefusesWaitsThatNoDeviceIsLeftFor) {
  runtime rt{options(2)};
  int refused = 0;
  int depth = 0;
  std::vector<ticket> inner(8);
  std::function<void(task_context&)> const nest = [&](task_context&) {
    if (depth == 8) { return; }
    ticket& mine = inner[static_cast<std::size_t>(depth++)];
    mine = rt.submit(nest);
    try {
      mine.wait();
    } catch (would_deadlock const&) { ++refused; }
  };
  rt.submit(nest).wait();
  rt.wait_idle();
  EXPECT_GE(refused, 1);
  for (ticket const& each : inner) {
    if (each.valid()) { EXPECT_NO_THROW(each.wait()); }
  }
}

// regression: each of two callables waited for a task on the other callable's device. No wait was
// refused.
TEST_F(Helping, RefusesOneOfTwoCallablesThatWaitForEachOther) {
  runtime rt{options(2)};
  std::atomic<int> inside{0}, refused{0};
  auto const crossed = [&](unsigned other) {
    return [&, other](task_context&) {
      ++inside;
      while (inside < 2) { std::this_thread::yield(); }
      ticket const theirs = rt.submit([](task_context&) {}, {.device = device_ordinal{other}});
      try {
        theirs.wait();
      } catch (would_deadlock const&) { ++refused; }
    };
  };
  std::thread second{[&] { rt.submit(crossed(0), {.device = device_ordinal{1}}).wait(); }};
  rt.submit(crossed(1), {.device = device_ordinal{0}}).wait();
  second.join();
  EXPECT_GE(refused, 1);
  rt.wait_idle();
}

// regression: if the context of a device could no longer be made current, the tasks of the device
// never ended
TEST_F(Helping, EndsTheTasksOfARetiredDevice) {
  std::vector<ticket> tickets;
  CUcontext left = nullptr;
  {
    runtime rt{options(1)};
    device_buffer<int> there{rt, device_ordinal{0}, 1 << 20};
    std::vector<int> host(1 << 20);
    tickets.push_back(rt.submit(there.copy_from(host)));
    for (int i = 0; i < 3; ++i) {
      tickets.push_back(rt.submit([](task_context&) {}));
    }
    // A control operation runs no callable. So the pop that fails below is the pop of the
    // operation's own scope.
    dispatch::runtime_state& state = inside(rt);
    state.operations.run(
        0, [&](dispatch::device_driver& device) { left = device.context().handle(); });
    // Because the pop fails, the context stays on this thread's stack.
    std::thread{[&] {
      ::testing::internal::CaptureStderr();
      testing::fail_call("cuCtxPopCurrent", 1, driver_status::invalid_context);
      state.operations.run(0, [](dispatch::device_driver&) {});
      EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("no longer be used"));
      testing::clear_faults();
    }}.join();
    EXPECT_EQ(state.devices[0].gate().retired(), CUDA_ERROR_INVALID_CONTEXT);
    tickets.push_back(rt.submit([](task_context&) {}));
    for (ticket const& each : tickets) { EXPECT_THROW(each.wait(), driver_error); }
    rt.wait_idle();
  }
  for (ticket const& each : tickets) {
    EXPECT_THROW(each.wait(), driver_error) << "each wait must throw";
  }
}

// regression: the destructor of a callable popped the context, and flotilla did not restore the
// context stack
TEST_F(Helping, RestoresTheStackAfterADestructor) {
  struct pops_at_the_end {
    driver::table const* api;
    explicit pops_at_the_end(driver::table const& of) : api{&of} {}
    pops_at_the_end(pops_at_the_end&& other) noexcept : api{std::exchange(other.api, nullptr)} {}
    ~pops_at_the_end() {
      CUcontext popped = nullptr;
      if (api != nullptr) { static_cast<void>(api->ctx_pop_current(&popped)); }
    }
    void operator()(task_context&) const {}
  };
  runtime rt{options(1)};
  ticket const bad = rt.submit(pops_at_the_end{*inside(rt).api()});
  EXPECT_THAT(thrown<error>([&] { bad.wait(); }), HasSubstr("popped"));
  EXPECT_EQ(inside(rt).devices[0].gate().retired(), CUDA_SUCCESS);
  rt.submit([](task_context&) {}).wait();
}

}  // namespace
}  // namespace flotilla::test
