// A kernel that faults: every open ticket ends with an error that says what happened, nothing
// hangs. Each test has a process of its own, which is lost afterwards.

#include <atomic>
#include <thread>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

/// The ticket ends, with an error that names status and device.
std::string poisoned_message(ticket const& open) {
  EXPECT_TRUE(ended(open)) << "a ticket stayed open";
  try {
    open.wait();
    ADD_FAILURE() << "a task that cannot have ended well did";
  } catch (poisoned const& error) {
    EXPECT_TRUE(is_sticky(error.status())) << to_string(error.status());
    EXPECT_THAT(error.what(), AllOf(HasSubstr(to_string(error.status())), HasSubstr("device")));
    return error.what();
  } catch (error const& other) { ADD_FAILURE() << "not poisoned: " << other.what(); }
  return {};
}

void expect_new_work_refused(runtime& rt, launch const& what) {
  EXPECT_THROW((void)rt.submit(what), poisoned);
  EXPECT_THROW((void)rt.submit([](task_context&) {}), poisoned);
  EXPECT_THROW((void)rt.try_submit(what), poisoned);
  EXPECT_THROW((device_buffer<int>{rt, device_ordinal{0}, 10}), error);
  rt.wait_idle();
  EXPECT_FALSE(rt.pump());
}

/// A task of each kind is open on every device when a kernel of device 0 faults.
void fault_with_open_tasks(int devices, int workers) {
  ticket outlives;
  {
    runtime rt{{.devices = device_spec(devices), .workers = workers}};
    test_program const kernels{rt};
    launch const nothing = kernels.nothing.on({1}, {1})();
    device_buffer<std::uint32_t> const memory{rt, device_ordinal{0}, 1000};
    ticket const before = rt.submit(nothing);
    before.wait();
    // With a second device, work is held there, so that the fault finds it open.
    held_word word{rt};
    device_ordinal const last{static_cast<unsigned>(devices - 1)};
    std::vector<ticket> open;
    ticket trap =
        rt.submit(kernels.loaded.kernel<>("trap_now").on({1}, {1})(),
                  {.device = device_ordinal{0}, .label = "the guilty one", .after = {before}});
    if (devices > 1) {
      open.push_back(rt.submit(word.launch_of(kernels), {.device = last, .after = {before}}));
    }
    ticket const* const held = devices > 1 ? &open.back() : &trap;
    std::vector<ticket> behind;
    for (unsigned i = 0; i < static_cast<unsigned>(devices); ++i) {
      try {
        behind.push_back(rt.submit(nothing, {.device = device_ordinal{i}, .after = {*held}}));
        behind.push_back(
            rt.submit([](task_context&) {}, {.device = device_ordinal{i}, .after = {*held}}));
      } catch (poisoned const&) {
        break;  // a worker was quick: the rest is refused, which is as good
      }
    }
    std::string const message = poisoned_message(trap);
    EXPECT_THAT(message, AllOf(HasSubstr("trap_now"), HasSubstr("the guilty one"),
                               HasSubstr("device 0"), HasSubstr(rt.devices()[0].uuid)));
    for (ticket const& each : open) { (void)poisoned_message(each); }
    for (ticket const& each : behind) {
      EXPECT_TRUE(ended(each));
      EXPECT_THROW(each.wait(), error);
    }
    before.wait();  // what had ended well stays so
    expect_new_work_refused(rt, nothing);
    outlives = std::move(trap);
  }
  (void)poisoned_message(outlives);
}

class Fault : public guest_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(workers, Fault, ::testing::Values(0, 1, 2, 8));

// requirement
TEST_P(Fault, EndsEveryOpenTicketOfOneDevice) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_with_open_tasks(1, GetParam()); });
}

// requirement
TEST_P(Fault, EndsEveryOpenTicketOfTwoDevices) {
  FLOTILLA_NEED_DEVICES(2);
  FLOTILLA_EXPECT_IN_CHILD([] { fault_with_open_tasks(2, GetParam()); });
}

// requirement: nobody waits for the faulting task, but for others, and the destructor returns
TEST_P(Fault, LeavesADestructorThatReturns) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] {
    ticket left;
    {
      runtime rt{{.devices = device_spec(1), .workers = GetParam()}};
      program const loaded = rt.load(test_image());
      left = rt.submit(loaded.kernel<>("trap_now").on({1}, {1})(), {.label = "nobody waits"});
    }
    EXPECT_TRUE(left.ready());
    EXPECT_THAT(poisoned_message(left), HasSubstr("nobody waits"));
  });
}

// requirement: wait_idle, wait_for and pump end as well
TEST_P(Fault, EndsEveryKindOfWait) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{{.devices = device_spec(1), .workers = GetParam()}};
    program const loaded = rt.load(test_image());
    ticket const trap = rt.submit(loaded.kernel<>("trap_now").on({1}, {1})());
    std::atomic<int> ended{0};
    std::vector<std::jthread> crew;
    for (schedule const how :
         {schedule::spin, schedule::yield, schedule::blocking, schedule::automatic}) {
      crew.emplace_back([&, how] {
        EXPECT_THROW(trap.wait(how), poisoned);
        ++ended;
      });
    }
    crew.emplace_back([&] {
      rt.wait_idle();
      ++ended;
    });
    crew.clear();
    EXPECT_EQ(ended, 5);
    EXPECT_TRUE(eventually([&] { return !rt.pump(); }));
  });
}

// requirement: what waits on one device for the end of what faults on another does not wait for ever, and does not run
TEST_P(Fault, EndsWhatAwaitsTheGuilty) {
  FLOTILLA_NEED_DEVICES(2);
  FLOTILLA_EXPECT_IN_CHILD([] {
    std::uint32_t cell = 0;
    {
      runtime rt{{.devices = device_spec(2), .workers = GetParam()}};
      test_program const kernels{rt};
      held_word word{rt};
      host_buffer<std::uint32_t> const written{rt, 1};
      written[0] = 0;
      device_ordinal const guilty{0}, other{1};
      ticket const held = rt.submit(word.launch_of(kernels), {.device = guilty});
      ticket const trap = rt.submit(kernels.loaded.kernel<>("trap_now").on({1}, {1})(),
                                    {.device = guilty, .after = {held}});
      std::vector<ticket> behind;
      for (int i = 0; i < 3; ++i) {
        behind.push_back(
            rt.submit(kernels.write.on({1}, {1})(written.data(), 1u), {.device = other, .after = {trap}}));
      }
      for (int i = 0; i < 100; ++i) { rt.pump(); }
      word.release();
      (void)poisoned_message(trap);
      for (ticket const& each : behind) { EXPECT_THROW(each.wait(), error); }
      cell = written[0];
    }
    EXPECT_EQ(cell, 0u);
  });
}

// requirement: another runtime of the process is lost as well, and a new one is refused
TEST_P(Fault, IsTheWholeProcesss) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{{.devices = device_spec(1), .workers = GetParam()}};
    runtime other{{.devices = device_spec(1), .workers = GetParam()}};
    test_program const kernels{rt}, others{other};
    EXPECT_THROW(rt.submit(kernels.loaded.kernel<>("trap_now").on({1}, {1})()).wait(), poisoned);
    try {
      other.submit(others.nothing.on({1}, {1})()).wait();
      ADD_FAILURE() << "a driver that is unusable ran a kernel";
    } catch (poisoned const& error) { EXPECT_TRUE(is_sticky(error.status())); }
    EXPECT_THAT(thrown<error>([] { runtime const third{{.devices = device_spec(1)}}; }),
                HasSubstr("CUDA_ERROR_"));
  });
}

// requirement: the CPU driver's injection makes the same of any kernel
TEST_P(Fault, CanBeInjected) {
  FLOTILLA_NEED_CPU_DRIVER();
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{{.devices = "cpu:2", .workers = GetParam()}};
    test_program const kernels{rt};
    inject("fault=1@3:CUDA_ERROR_ILLEGAL_ADDRESS");
    launch const nothing = kernels.nothing.on({1}, {1})();
    rt.submit(nothing, {.device = device_ordinal{1}}).wait();
    rt.submit(nothing, {.device = device_ordinal{1}}).wait();
    for (int i = 0; i < 5; ++i) { rt.submit(nothing, {.device = device_ordinal{0}}).wait(); }
    ticket const third = rt.submit(nothing, {.device = device_ordinal{1}, .label = "third"});
    EXPECT_THAT(poisoned_message(third), AllOf(HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"),
                                               HasSubstr("device 1"), HasSubstr("third")));
    expect_new_work_refused(rt, nothing);
  });
}

}  // namespace
}  // namespace flotilla::test
