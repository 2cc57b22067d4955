// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tasks wait for other tasks: dependencies, completion_page, completion_board, end_events.

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "dispatch/ordering/dependencies.hpp"
#include "dispatch/submission/slot_encoding.hpp"
#include "memory_order/subjects.hpp"

namespace flotilla::test::memory_order {
namespace {

using namespace dispatch;
using states = task_state::states;

constexpr slot_address ahead = 0;         // the first slot of device 0
constexpr slot_address beside = 1;        // the second slot of device 0
constexpr slot_address after = 1u << 16;  // the first slot of device 1
constexpr task_key key_of_ahead{ahead, 1};
end_mark const first_mark = end_mark::of(0, 0, 1), second_mark = end_mark::of(0, 0, 2);

/// Three devices with open tasks. No task is in a queue.
struct three_devices {
  static constexpr std::array<std::size_t, 3> windows{2, 1, 1};
  context::context_handle context{std::make_shared<driver::table const>(), {}, {}};
  context::lease_gate gate{context};
  doorbell bell;
  task_table tasks{windows, 1};
  completion_board board;
  failure_table failures;
  shared_queue shared{3, bell};
  host_tasks hosts;
  dependencies order{tasks, board, failures, shared, hosts};
  std::array<device_inbound, 3> inbound{device_inbound{tasks, gate, bell},
                                        device_inbound{tasks, gate, bell},
                                        device_inbound{tasks, gate, bell}};
  std::shared_ptr<failure const> why = std::make_shared<failure const>();
  bool fails = false;
  int launched = 0, result = 0;  // what a device may use after the launch or the end of `ahead`

  three_devices() {
    for (unsigned device = 0; device < 3; ++device) {
      board.add(context, 1, 0);
      order.add(inbound[device]);
      open_counted(tasks.at(device << 16), device + 1);
    }
    open_counted(tasks.at(beside), 1);
  }
  void launch(end_mark mark) {
    launched = 1;
    order.mark_launched(std::array{ahead}, mark);
  }
  /// What task_end does.
  void end() {
    result = 1;
    generation_word const before{
        tasks.at(ahead).generation.exchange(generation_word::of(2), std::memory_order_seq_cst)};
    if (before.followed()) { order.release_successors(ahead, 1); }
  }
  void fail() {
    failures.put(ahead, 1, why);
    end();
  }
  /// What predecessors::park_or_start does. @return whether the task is parked
  bool park(slot_address task) {
    if (order.park(task, key_of_ahead)) { return true; }
    look();
    return false;
  }
  void look() {
    task_state const now = order.look(key_of_ahead);
    if (now.state == states::launched) { check(launched == 1, "launched, but not seen"); }
    if (now.state == states::ended) { check(result == 1, "the result is not visible"); }
    if (now.state == states::failed) { check(now.why == why, "another failure"); }
    check(now.state != states::ended || !fails, "a failed task has succeeded");
  }
  /// Checks that a task was requeued once if it was parked.
  void expect(slot_address task, bool parked) {
    device_inbound& mine = inbound[task >> 16];
    check((mine.take_requeued() == task) == parked, "a parked task was forgotten");
    check(tasks.at(task).next_parked.load(std::memory_order_relaxed) == no_slot || !parked,
          "a task was requeued twice");
  }
};

/// One thread drives device 0, which has the predecessor. Others park their tasks on it.
scenario parked_during(void (*drive)(three_devices&), unsigned parking = 1) {
  return [=](execution& one) {
    auto const all = std::make_shared<three_devices>();
    auto const parked = std::make_shared<std::array<bool, 3>>();
    one.thread([=] { drive(*all); });
    for (unsigned device = 1; device <= parking; ++device) {
      one.thread([=] { (*parked)[device] = all->park(device << 16); });
    }
    one.at_end([=] {
      for (unsigned device = 1; device <= parking; ++device) {
        all->expect(device << 16, (*parked)[device]);
      }
    });
  };
}

add_subject const launches{"dependencies: park and launch",
                           parked_during([](three_devices& all) { all.launch(first_mark); })};
add_subject const ends{"dependencies: park and end",
                       parked_during([](three_devices& all) { all.end(); })};
add_subject const two_park{"dependencies: two tasks park",
                           parked_during([](three_devices& all) { all.launch(first_mark); }, 2), 1};

// A thread that sees the end of a task finds its failure.
add_subject const failures{"failure_table: put and get", [](execution& one) {
                             auto const all = std::make_shared<three_devices>();
                             all->fails = true;
                             one.thread([all] { all->fail(); });
                             one.thread([all] { all->look(); });
                           }};

// The slot's next task has a list of its own.
add_subject const reused{"dependencies: park, launch, end and the slot's next task",
                         parked_during([](three_devices& all) {
                           all.launch(first_mark);
                           all.end();
                           slot& task = all.tasks.at(ahead);
                           open_counted(task, 1);
                           std::uint64_t const list =
                               task.successors.load(std::memory_order_relaxed);
                           check(list == successor_word::of(3, successor_word::none),
                                 "a task was parked on the slot's next task");
                         }),
                         2};

// A batch takes the tasks of its own device that are parked on its tasks, and leaves the others.
add_subject const batches{"dependencies: resume_batched", parked_during([](three_devices& all) {
                            check(all.order.park(beside, key_of_ahead), "not parked");
                            std::vector<slot_address> runnable;
                            all.order.resume_batched(ahead, std::array{&runnable});
                            check(runnable == std::vector{beside}, "a task was not resumed");
                            all.launch(first_mark);
                          }),
                          2};

// A thread that finds the number of a task's mark reached sees the task's results.
add_subject const numbers{"completion_page: the number of a task", [](execution& one) {
                            auto const all = std::make_shared<three_devices>();
                            one.thread([all] { all->launch(first_mark); });
                            one.thread([all] {  // the device
                              if (all->order.look(key_of_ahead).state != states::launched) {
                                return;
                              }
                              all->result = 1;
                              all->board.page_of(0).raise(0, 1);
                            });
                            one.thread([all] { all->look(); });
                          }};

// A device was lost. Its task runs again, and has not ended when the number of its first launch is
// reached.
add_subject const lost{"dependencies: a launch is taken back", [](execution& one) {
                         auto const all = std::make_shared<three_devices>();
                         all->launch(first_mark);
                         one.thread([all] {
                           all->order.take_back_launch(ahead);
                           all->board.page_of(0).raise(0, 1);
                           all->launch(second_mark);
                         });
                         one.thread([all] {
                           check(all->order.look(key_of_ahead).state != states::ended,
                                 "a task that must run again has ended");
                         });
                       }};

/// A driver with one event.
struct event_driver {
  int alive = 0;
  std::atomic<int> recorded{0};
};
event_driver& of(CUevent event) { return *reinterpret_cast<event_driver*>(event); }
thread_local event_driver* made;  // by event_create

driver::table events_only() {
  driver::table api;
  api.event_create = [](CUevent* event, unsigned) {
    made->alive = 1;
    *event = reinterpret_cast<CUevent>(made);
    return CUDA_SUCCESS;
  };
  api.event_record = [](CUevent event, CUstream) {
    of(event).recorded.store(1, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  };
  api.event_query = [](CUevent event) {
    check(of(event).alive == 1, "an event that does not exist");
    check(of(event).recorded.load(std::memory_order_relaxed) == 1, "an event of no work");
    return CUDA_SUCCESS;
  };
  api.event_destroy = [](CUevent event) {
    of(event).alive = 0;
    return CUDA_SUCCESS;
  };
  return api;
}

// A thread that knows of a launch queries its event, while the owner destroys all events. Another
// thread does so although it knows of no launch, as stuck_devices does.
add_subject const events{"end_events: record, has_ended and destroy", [](execution& one) {
                           struct state {
                             driver::table api = events_only();
                             event_driver event;
                             end_events all{api, 1};
                             std::atomic<bool> launched{false};
                           };
                           auto const all = std::make_shared<state>();
                           one.thread([all] {
                             made = &all->event;
                             static_cast<void>(all->all.record(0, 1, 0, nullptr));
                             all->launched.store(true, std::memory_order_release);
                             all->all.destroy();
                           });
                           for (bool const knows : {true, false}) {
                             one.thread([all, knows] {
                               if (knows && !all->launched.load(std::memory_order_acquire)) {
                                 return;
                               }
                               static_cast<void>(all->all.has_ended(0, 1));
                             });
                           }
                         }};

}  // namespace
}  // namespace flotilla::test::memory_order
