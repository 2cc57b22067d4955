// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// In these tests no thread waits for the tasks, so workers must find each task. A worker ends as
// soon as it finds no work. Other threads take and release leases without draining the devices.

#include <flotilla/flotilla.hpp>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/tbb_threads.hpp"

namespace flotilla::test {
namespace {

class Stranding : public guest_test {
 protected:
  static constexpr int rounds = 400;
  parallelism threads_{4};
  static runtime_options options() {
    return {.devices = "cpu:2", .workers = 2, .linger = std::chrono::microseconds{0}};
  }
};

// regression: a thread held a lease for a control operation while a task was announced. The thread
// then released the lease without checking for work.
TEST_F(Stranding, NoTaskIsLeftBehindALeaseThatWasTakenForSomethingElse) {
  std::atomic<int> ran{0};
  std::atomic<bool> over{false};
  runtime rt{options()};
  std::thread meddler{[&] {
    for (unsigned i = 0; !over; ++i) {
      device_ordinal const device{i % 2};
      if (i % 3 == 0) {
        static_cast<void>(rt.memory(device));
      } else {
        device_buffer<int> allocated_and_freed{rt, device, 64};
      }
    }
  }};
  for (int i = 1; i <= rounds; ++i) {
    task_options where;
    if (i % 3 != 0) { where.device = device_ordinal{static_cast<unsigned>(i % 2)}; }
    static_cast<void>(rt.submit([&](task_context&) { ++ran; }, where));
    if (!eventually([&] { return ran == i; })) {
      ADD_FAILURE() << "task " << i << " was stranded";
      break;
    }
  }
  over = true;
  meddler.join();
}

// stress: tasks arrive while the last worker is about to end
TEST_F(Stranding, NoTaskIsLeftByAWorkerThatEnds) {
  runtime rt{options()};
  constexpr int submitters = 2;
  std::vector<std::thread> all;
  std::atomic<int> stranded{0};
  for (int thread = 0; thread < submitters; ++thread) {
    all.emplace_back([&, thread] {
      std::atomic<int> ran{0};
      for (int i = 1; i <= rounds && stranded == 0; ++i) {
        task_options where;
        if (thread == 0) { where.device = device_ordinal{static_cast<unsigned>(i % 2)}; }
        static_cast<void>(rt.submit([&](task_context&) { ++ran; }, where));
        if (!eventually([&] { return ran == i; })) { ++stranded; }
      }
      rt.wait_idle();  // the callables use `ran`, which is destroyed next
    });
  }
  for (std::thread& each : all) { each.join(); }
  EXPECT_EQ(stranded, 0);
}

// stress: a task that is parked on a task of another device must be requeued, and a worker must
// then find it
TEST_F(Stranding, NoTaskIsLeftParked) {
  std::atomic<int> ran{0};
  runtime rt{options()};
  for (int i = 1; i <= rounds / 2; ++i) {
    ticket const first = rt.submit([](task_context&) {}, {.device = device_ordinal{0}});
    ticket const second =
        rt.submit([&](task_context&) { ++ran; }, {.device = device_ordinal{1}, .after = {first}});
    static_cast<void>(
        rt.submit([&](task_context&) { ++ran; }, {.device = device_ordinal{0}, .after = {second}}));
    if (!eventually([&] { return ran == 2 * i; })) {
      ADD_FAILURE() << "chain " << i << " was stranded";
      break;
    }
  }
  rt.wait_idle();
}

// regression: a device pulls only a limited number of shared tasks, and parked tasks were wrongly
// included in this number. So the device never pulled the predecessor of the parked tasks.
TEST_F(Stranding, NoTaskIsLeftBehindOneThatIsStillToBePulled) {
  constexpr int more_than_room = 1500;
  runtime rt{{.devices = "cpu:2", .workers = 0}};
  std::atomic<int> ran{0};
  auto const count = [&](task_context&) { ++ran; };
  // The inbox of this thread must be opened before the inbox of the other thread.
  static_cast<void>(rt.submit(count));
  rt.wait_idle();
  ticket last;
  std::thread{[&] {
    for (int i = 0; i < 2 * more_than_room; ++i) { static_cast<void>(rt.submit(count)); }
    last = rt.submit(count);
  }}.join();
  for (int i = 0; i < more_than_room; ++i) {
    static_cast<void>(rt.submit(count, {.after = {last}}));
  }
  EXPECT_TRUE(pumping(rt, [&] { return ran == 3 * more_than_room + 2; })) << ran << " ran";
  // Otherwise the destructor of the runtime would wait forever.
  if (HasFailure()) { std::_Exit(1); }
}

}  // namespace
}  // namespace flotilla::test
