// Floating is real: contexts come to whatever thread has work for them, and stay with none.

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <set>
#include <thread>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/crowd.hpp"
#include "support/devices.hpp"
#include "support/driver_in_use.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class Floating : public guest_test {};

/// Submits callables to device 0 and lets `drive` end them, until one ran on a thread that `fits`.
template <class Drive, class Fits>
bool until_run_by(runtime& rt, Drive drive, Fits fits) {
  return eventually([&] {
    std::atomic<std::thread::id> ran_on{};
    ticket const done = rt.submit([&](task_context&) { ran_on = std::this_thread::get_id(); });
    drive(done);
    return fits(ran_on.load());
  });
}

// requirement
TEST_F(Floating, OneDeviceIsDrivenByAWorkerAWaiterAndAPumpingThread) {
  FLOTILLA_NEED_DEVICES(1);
  FLOTILLA_EXPECT_IN_CHILD([] {
    parallelism const all{all_threads};
    runtime rt{{.devices = device_spec(1), .workers = 1, .linger = std::chrono::microseconds{0}}};
    auto const here = std::this_thread::get_id();
    std::thread::id worker{};
    EXPECT_TRUE(until_run_by(
        rt,
        [](ticket const& done) {
          EXPECT_TRUE(eventually([&] { return done.ready(); })) << "no worker came";
        },
        [&](std::thread::id id) { return worker = id, id != here; }));
    EXPECT_TRUE(until_run_by(
        rt, [](ticket const& done) { done.wait(); },
        [&](std::thread::id id) { return id == here; }))
        << "a waiter never drove";
    EXPECT_EQ(current_context(), nullptr) << "left on the waiter";
    std::thread{[&] {
      auto const pumper = std::this_thread::get_id();
      EXPECT_TRUE(until_run_by(
          rt, [&](ticket const& done) { EXPECT_TRUE(pumping(rt, [&] { return done.ready(); })); },
          [&](std::thread::id id) { return id == pumper; }))
          << "a pumping thread never drove";
      EXPECT_EQ(current_context(), nullptr) << "left on the pumping thread";
      EXPECT_EQ(stack_depth(), 0u);
    }}.join();
    rt.wait_idle();
    std::mutex guard;
    std::set<std::thread::id> seen;
    EXPECT_TRUE(on_each_tbb_thread(all_threads, [&] {
      EXPECT_EQ(current_context(), nullptr) << "left on an oneTBB thread";
      EXPECT_EQ(stack_depth(), 0u);
      std::lock_guard const hold{guard};
      seen.insert(std::this_thread::get_id());
    }));
    EXPECT_TRUE(seen.contains(worker)) << "the worker was not looked at";
    EXPECT_GE(rt.counters(device_ordinal{0}).migrations, 2u);
  });
}

// requirement
TEST_F(Floating, EachOfTwoWorkersDrivesSeveralOfFourDevices) {
  FLOTILLA_NEED_DEVICES(4);
  FLOTILLA_EXPECT_IN_CHILD([] {
    parallelism const two_workers{3};  // in this process oneTBB has had no others
    runtime rt{{.devices = device_spec(4), .workers = 2}};
    test_program const kernels{rt};
    launch const nothing = kernels.nothing.on({1}, {1})();
    auto const each_drove_two = [&] {
      auto const workers = rt.workers();
      return workers.size() >= 2 &&
             std::all_of(workers.begin(), workers.end(), [](worker_counters const& each) {
               return std::popcount(each.devices) >= 2;
             });
    };
    EXPECT_TRUE(eventually([&] {
      for (int i = 0; i < 400; ++i) {
        (void)rt.submit(nothing, {.device = device_ordinal{static_cast<unsigned>(i % 4)}});
      }
      // This thread does not help: workers alone empty the devices.
      return each_drove_two();
    }));
    rt.wait_idle();
    auto const workers = rt.workers();
    EXPECT_EQ(workers.size(), 2u);
    for (auto const& each : workers) { EXPECT_GE(std::popcount(each.devices), 2); }
  });
}

/// Keeps device 0 of `rt` under a flood of small tasks, some of them always open, while it lives.
class flood {
 public:
  flood(runtime& rt, launch const& what)
      : thread_{[&rt, &what](std::stop_token stop) {
          constexpr std::uint64_t open = 1024;
          std::uint64_t submitted = rt.counters(device_ordinal{0}).tasks;
          while (!stop.stop_requested()) {
            if (submitted - rt.counters(device_ordinal{0}).tasks < open) {
              (void)rt.submit(what, {.device = device_ordinal{0}});
              ++submitted;
            } else {
              std::this_thread::yield();
            }
          }
        }} {}

 private:
  std::jthread thread_;
};

/// A thread that answers at once, as soon as it gets a processor: what this machine takes to have
/// another thread do anything at all. It yields while it waits for a question, as a worker does.
class answering_thread {
 public:
  void ask() {
    int const question = asked_.fetch_add(1) + 1;
    asked_.notify_one();
    while (answered_.load() != question) { std::this_thread::yield(); }
  }
  ~answering_thread() {
    thread_.request_stop();
    ask();
  }

 private:
  std::atomic<int> asked_{0}, answered_{0};
  std::jthread thread_{[this](std::stop_token stop) {
    for (int seen = 0; !stop.stop_requested(); answered_ = seen) {
      asked_.wait(seen);
      seen = asked_.load();
    }
    answered_ = asked_.load();
  }};
};

/// Whether most of some repetitions of `action` took less than the limit. Where a machine is so busy
/// with other processes that its threads only get their turns in milliseconds, which the control
/// between the repetitions shows, another time is waited for.
template <class Action>
void expect_served_in_time(char const* what, Action action) {
  using clock = std::chrono::steady_clock;
  constexpr auto limit = std::chrono::milliseconds{sanitized ? 100 : 5};
  constexpr auto busy = limit / 10;
  constexpr int times = 21;
  auto const in_us = [](clock::duration time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  };
  auto const timed = [](std::vector<clock::duration>& into, auto&& run) {
    auto const begin = clock::now();
    run();
    into.push_back(clock::now() - begin);
  };
  auto const patient_until = clock::now() + std::chrono::seconds{5};
  while (true) {
    std::vector<clock::duration> took, control;
    {
      answering_thread other;
      for (int i = 0; i < times; ++i) {
        timed(took, action);
        timed(control, [&] { other.ask(); });
      }
    }
    std::sort(took.begin(), took.end());
    std::sort(control.begin(), control.end());
    if (took[times / 2] < limit) { return; }
    if (control[times / 2] > busy && clock::now() < patient_until) { continue; }
    EXPECT_LT(took[times / 2], limit)
        << what << ": the middle of " << times << " took " << in_us(took[times / 2])
        << " us, the worst " << in_us(took.back()) << "; the answer of a plain thread "
        << in_us(control[times / 2]) << " us";
    return;
  }
}

// requirement: one worker, a flood on one device: nobody else is kept waiting
TEST_F(Floating, FloodOnOneDeviceKeepsNobodyWaiting) {
  FLOTILLA_NEED_DEVICES(4);
  FLOTILLA_EXPECT_IN_CHILD([] {
    parallelism const one_worker{2};
    runtime rt{{.devices = device_spec(4), .workers = 1}};
    test_program const kernels{rt};
    launch const nothing = kernels.nothing.on({1}, {1})();
    flood const on_device_0{rt, nothing};
    EXPECT_TRUE(eventually([&] { return rt.counters(device_ordinal{0}).tasks > 10000; }));
    // ready() does not help: the one worker has to come.
    auto const served = [&](device_ordinal device) {
      ticket const done = rt.submit(nothing, {.device = device});
      EXPECT_TRUE(eventually([&] { return done.ready(); }));
    };
    for (unsigned i = 1; i < 4; ++i) {
      expect_served_in_time("a task on another device", [&] { served(device_ordinal{i}); });
    }
    expect_served_in_time("another producer's task on the flooded device",
                          [&] { served(device_ordinal{0}); });
    for (unsigned i = 0; i < 4; ++i) {
      expect_served_in_time("a new device_buffer", [&] {
        device_buffer<int> const made{rt, device_ordinal{i}, 100};
      });
    }
  });
}

// requirement: no worker at all: one thread drives every device in turn
TEST_F(Floating, OneThreadDrivesEveryDevice) {
  FLOTILLA_NEED_DEVICES(2);
  int const devices = std::min(4, devices_there());
  runtime rt{{.devices = device_spec(devices), .workers = 0}};
  std::set<unsigned> seen;
  for (device const& each : rt.devices()) {
    (void)rt.submit(
        [&](task_context& context) {
          EXPECT_EQ(current_context(), context.context());
          seen.insert(context.device().ordinal.value);
        },
        {.device = each});
  }
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(current_context(), nullptr);
    return !rt.pump();
  }));
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(devices));
}

}  // namespace
}  // namespace flotilla::test
