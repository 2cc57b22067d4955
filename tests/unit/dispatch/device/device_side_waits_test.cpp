// Batches that wait for another device themselves, which only GPUs do. Here kernels of the tests stand for flotilla's own on CPU
// devices. Those run one kernel at a time, so an awaiter keeps its device: nothing here goes back to where it came from.

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "dispatch/device_queue.hpp"
#include "dispatch/own_kernels.hpp"
#include "support/crowd.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class Awaiting : public guest_test {
 protected:
  Awaiting() {
    dispatch::own_kernels::on_cpu_devices = stand_ins;
    dispatch::device_queue::multiprocessors_an_awaiter = 1;
  }
  ~Awaiting() override {
    clear_injection();
    dispatch::own_kernels::on_cpu_devices = nullptr;
    dispatch::device_queue::multiprocessors_an_awaiter = shared_by_;
    dispatch::device_queue::awaiters_turn_over = turn_over_;
  }

  /// A runtime whose kernels have been seen to run on both devices.
  struct fleet {
    runtime rt{{.devices = "cpu:2", .workers = 2}};
    test_program program{rt};
    host_buffer<std::uint32_t> value{rt, 1};

    fleet() {
      value[0] = 1;
      for (int i = 0; i < 40; ++i) {
        device_ordinal const where{static_cast<unsigned>(i % 2)};
        rt.submit(program.step.on({1}, {1})(value.data(), 1u, 0u), {.device = where}).wait();
      }
    }
    /// A task of device 1 that is launched, behind one of device 0 that `head` holds: it awaits.
    ticket launched_behind(held_word const& head) {
      std::vector<ticket> made;
      static_cast<void>(held_behind(head, made));
      return std::move(made.back());
    }
    /// The same, added to `behind`. @return what it is behind.
    ticket held_behind(held_word const& head, std::vector<ticket>& behind) {
      ticket held = rt.submit(head.launch_of(program), {.device = device_ordinal{0}});
      EXPECT_TRUE(eventually([&] { return head.started(); }));
      auto const batches = [this] { return rt.counters(rt.devices()[1]).batches; };
      std::uint64_t const before = batches();
      behind.push_back(rt.submit(step(1), {.device = device_ordinal{1}, .after = {held}}));
      EXPECT_TRUE(eventually([&] { return batches() > before; }));
      return held;
    }
    /// Passes of device 1 while something awaits there, as there are many of on GPUs. What makes them ends later.
    void let_pass(std::vector<ticket>& made) {
      for (int i = 0; i < 2; ++i) {
        std::uint64_t const before = rt.counters(rt.devices()[1]).batches;
        made.push_back(rt.submit(program.nothing.on({1}, {1})(), {.device = device_ordinal{1}}));
        EXPECT_TRUE(eventually([&] { return rt.counters(rt.devices()[1]).batches > before; }));
      }
    }
    /// And it ends.
    void one_awaits() {
      held_word head{rt};
      ticket const made = launched_behind(head);
      head.release();
      rt.wait_idle();
    }
    launch step(std::uint32_t link) { return program.step.on({1}, {1})(value.data(), 3u, link); }
  };
  /// A chain whose first link is on one device, held until all is launched, and whose others are on the other.
  static std::vector<ticket> chain(fleet& ships, unsigned links, unsigned from) {
    held_word head{ships.rt};
    ticket const held = ships.rt.submit(head.launch_of(ships.program), {.device = device_ordinal{from}});
    std::vector<ticket> made;
    made.push_back(ships.rt.submit(ships.step(0), {.device = device_ordinal{from}, .after = {held}}));
    for (unsigned i = 1; i <= links; ++i) {
      made.push_back(ships.rt.submit(ships.step(i), {.device = device_ordinal{1 - from}, .after = {made.back()}}));
    }
    std::this_thread::sleep_for(2ms);
    head.release();
    ships.rt.wait_idle();
    return made;
  }
  /// What the links that ran are to have made of the value; each that ran well before the first that did not.
  static std::uint32_t expected(std::uint32_t value, std::vector<ticket> const& links) {
    bool failed = false;
    for (std::uint32_t i = 0; i < links.size(); ++i) {
      try {
        links[i].wait();
        EXPECT_FALSE(failed) << "link " << i << " ran behind one that did not";
        value = value * 3 + i;
      } catch (error const&) { failed = true; }
    }
    return value;
  }

 private:
  static dispatch::own_functions stand_ins(context::floating_context const& context) {
    dispatch::own_functions made;
    CUmodule module = nullptr;  // as long as the context
    driver::table const& api = context.api();
    EXPECT_EQ(api.module_load_data(&module, test_image().cpu), CUDA_SUCCESS);
    EXPECT_EQ(api.module_get_function(&made.marker, module, "write_number"), CUDA_SUCCESS);
    EXPECT_EQ(api.module_get_function(&made.awaiter, module, "await_number"), CUDA_SUCCESS);
    return made;
  }
  parallelism threads_{4};
  unsigned const shared_by_ = dispatch::device_queue::multiprocessors_an_awaiter;
  std::chrono::microseconds const turn_over_ = dispatch::device_queue::awaiters_turn_over;
};

// requirement: no stream is told to wait where a batch can, and the order is kept
TEST_F(Awaiting, WhatIsBehindAnotherDeviceWaitsInItsBatch) {
  fleet ships;
  inject("fail=cuStreamWaitValue64@1:CUDA_ERROR_NOT_SUPPORTED");
  std::uint32_t value = ships.value[0];
  for (int round = 0; round < 50; ++round) { value = expected(value, chain(ships, 3, static_cast<unsigned>(round % 2))); }
  EXPECT_EQ(ships.value[0], value);
  EXPECT_EQ(ships.rt.counters(ships.rt.devices()[0]).failed + ships.rt.counters(ships.rt.devices()[1]).failed, 0u)
      << "a stream was told to wait";
}

// requirement: where as many await as may, and have ended one after another so far, the next is kept until one has: a chain that is
// ahead of its devices would be at the pace of streams that wait, and so stay ahead
TEST_F(Awaiting, WhatMayNotAwaitYetIsKeptWhileOthersTurnOver) {
  constexpr unsigned tasks = 4;  // three more than may await
  dispatch::device_queue::awaiters_turn_over = 60s;
  fleet ships;
  dispatch::device_queue::multiprocessors_an_awaiter = ships.rt.devices()[1].multiprocessors;
  ships.one_awaits();
  std::uint32_t made = ships.value[0];
  inject("fail=cuStreamWaitValue64@1:CUDA_ERROR_NOT_SUPPORTED");
  held_word head{ships.rt};
  std::vector<ticket> behind, beside;
  ticket const held = ships.held_behind(head, behind);
  ships.let_pass(beside);
  for (unsigned i = 1; i < tasks; ++i) {
    behind.push_back(ships.rt.submit(ships.step(1), {.device = device_ordinal{1}, .after = {held}}));
  }
  std::this_thread::sleep_for(5ms);
  head.release();
  for (ticket const& each : behind) {
    EXPECT_NO_THROW(each.wait()) << "its stream was told to wait";
    made = made * 3 + 1;
  }
  EXPECT_EQ(ships.value[0], made);
}

// requirement: and while none ends, not for long: what it waits for may take any time
TEST_F(Awaiting, WhatMayNotAwaitIsNotKeptWhereNoneEnds) {
  constexpr unsigned tasks = 4;
  dispatch::device_queue::awaiters_turn_over = 1ms;
  fleet ships;
  dispatch::device_queue::multiprocessors_an_awaiter = ships.rt.devices()[1].multiprocessors;
  ships.one_awaits();
  held_word head{ships.rt};
  auto const batches = [&] { return ships.rt.counters(ships.rt.devices()[1]).batches; };
  std::uint64_t const before = batches();
  std::vector<ticket> behind;
  ticket const held = ships.held_behind(head, behind);
  for (unsigned i = 1; i < tasks; ++i) {
    behind.push_back(ships.rt.submit(ships.step(1), {.device = device_ordinal{1}, .after = {held}}));
  }
  EXPECT_TRUE(eventually([&] { return batches() == before + tasks; })) << "kept, with their predecessor launched long ago";
  head.release();
  for (ticket const& each : behind) { each.wait(); }
}

// requirement: nor is it lost where what was to wait is refused, its node, its awaiter or its graph, at whatever call
TEST_F(Awaiting, KeepsItsOrderWhereTheDriverRefuses) {
  fleet ships;
  std::uint32_t value = ships.value[0];
  for (char const* const call : {"cuGraphLaunch", "cuGraphExecKernelNodeSetParams", "cuGraphInstantiateWithFlags"}) {
    for (int at = 1; at <= 12; ++at) {
      inject("fail=" + std::string{call} + "@" + std::to_string(at) + ":CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
      value = expected(value, chain(ships, 3, static_cast<unsigned>(at % 2)));
      ASSERT_EQ(ships.value[0], value) << call << " at " << at;
      clear_injection();
    }
  }
}

// requirement: the first callable of a device begins when what awaits there has left, for user code may need all of the device
TEST_F(Awaiting, TheFirstCallableWaitsForAwaitersToLeave) {
  fleet ships;
  held_word head{ships.rt};
  ticket const behind = ships.launched_behind(head);
  std::atomic<bool> ran{false};
  ticket const callable = ships.rt.submit([&](task_context&) { ran = true; }, {.device = device_ordinal{1}});
  std::this_thread::sleep_for(200ms);
  EXPECT_FALSE(ran);
  head.release();
  callable.wait();
  EXPECT_TRUE(behind.ready());
}

// requirement: and not for ever, since it may be what they wait for
TEST_F(Awaiting, TheFirstCallableWaitsASecondAtMost) {
  fleet ships;
  held_word head{ships.rt};
  ticket const behind = ships.launched_behind(head);
  ticket const callable = ships.rt.submit([&](task_context&) { head.release(); }, {.device = device_ordinal{1}});
  callable.wait();
  behind.wait();
}

// regression: an empty stage, launched again before something is put behind a predecessor in its lane, counted as one more that has left
TEST_F(Awaiting, WhatHasLeftIsCountedOnce) {
  fleet ships;
  for (int round = 0; round < 20; ++round) {
    held_word head{ships.rt};
    ticket const there = ships.launched_behind(head);  // its stage is empty
    ticket const next = ships.rt.submit(ships.step(2), {.device = device_ordinal{1}, .after = {there}});
    std::this_thread::sleep_for(2ms);
    head.release();
    next.wait();
  }
  ships.rt.wait_idle();
  auto const begun = std::chrono::steady_clock::now();
  ships.rt.submit([](task_context&) {}, {.device = device_ordinal{1}}).wait();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 900ms) << "it waited for awaiters that are not there";
}

}  // namespace
}  // namespace flotilla::test
