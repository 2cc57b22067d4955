// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The end of tasks of two devices. The tests use no runtime, and nothing is launched.

#include "dispatch/ordering/task_end.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "context/lease.hpp"
#include "dispatch/submission/slot_encoding.hpp"
#include "unit/context/context_test.hpp"

namespace flotilla::dispatch {
namespace {

class TaskEnd : public context::context_test {
 protected:
  TaskEnd() {
    for (device_inbound& each : inbound_) { order_.add(each); }
  }
  /// Opens a launch without a ticket.
  slot_address open(unsigned device) {
    slot_address const address = tasks_.pool_at(device).take_any();
    slot& task = tasks_.at(address);
    task.kind = task_kind::launch;
    task.level = 0;
    task.generation =
        generation_word::of(prepare_open(task, device + 1)) | generation_word::no_ticket_bit;
    return address;
  }
  [[nodiscard]] std::uint64_t generation(slot_address task) const {
    return generation_word{tasks_.at(task).generation.load()}.generation();
  }

  static constexpr std::array<std::size_t, 2> windows{4, 4};
  context::context_handle context_{api(), cpu(), {}};
  context::lease_gate gate_{context_};
  doorbell bell_;
  task_table tasks_{windows, 1};
  failure_table failures_;
  epoch_reclaimer reclaimer_;
  completion_board board_;
  shared_queue shared_{2, bell_};
  host_tasks hosts_;
  dependencies order_{tasks_, board_, failures_, shared_, hosts_};
  std::array<device_inbound, 2> inbound_{device_inbound{tasks_, gate_, bell_},
                                         device_inbound{tasks_, gate_, bell_}};
  std::shared_ptr<continuation_table> const continuations_ =
      std::make_shared<continuation_table>(bell_, nullptr);
  bulk_table bulks_{tasks_};
  chunk_memories chunks_;
  posted_errors posted_{{}, tasks_, continuations_, bell_};
  base::sharded_count tickets_;
  deadline_queue deadlines_;
  tracer trace_{1, tasks_, {}};
  task_end ends_{{tasks_, failures_, reclaimer_, order_, *continuations_, bulks_, chunks_, posted_,
                  shared_, tickets_, deadlines_, bell_, trace_}};
};

// requirement: the end of a batch releases the tasks that are parked on its tasks
TEST_F(TaskEnd, OfABatchReleasesParkedTasks) {
  std::array<slot_address, 2> const batch{open(0), open(0)};
  slot_address const parked = open(1);
  ASSERT_TRUE(order_.park(parked, {batch[1], static_cast<std::uint32_t>(generation(batch[1]))}));
  EXPECT_EQ(inbound_[1].take_requeued(), no_slot);
  {
    slot_returns returns;
    EXPECT_EQ(ends_.end_batch(0, 0, batch, returns), 0u);
  }
  EXPECT_EQ(inbound_[1].take_requeued(), parked);
  EXPECT_EQ(tasks_.pool_at(0).used(), 0u);
  EXPECT_EQ(ends_.ended(0), 2u);
  EXPECT_EQ(ends_.failed(0), 0u);
}

// requirement: a task that was cancelled while it was in a queue counts once, as a failed task of
// its device, and its slot goes back when it is in no queue any more
TEST_F(TaskEnd, CountsACancelledTaskOfAQueueAtItsDevice) {
  for (unsigned device = 0; device < 2; ++device) {
    slot_address const task = open(device);
    std::uint64_t const now = generation(task);
    ASSERT_EQ(request_cancel(tasks_.at(task), now), cancel_answer::will_not_run);
    ASSERT_TRUE(claim_early_end(tasks_.at(task), now));
    ends_.end_early(task, make_cancellation("a task", {}));
    EXPECT_EQ(ends_.ended(device), 0u);
    EXPECT_EQ(tasks_.pool_at(device).used(), 1u);
    ends_.drop(task);
    EXPECT_EQ(ends_.ended(device), 1u);
    EXPECT_EQ(ends_.failed(device), 1u);
    EXPECT_EQ(tasks_.pool_at(device).used(), 0u);
  }
  EXPECT_EQ(ends_.ended(0), 1u) << "the task of the other device does not count here";
}

}  // namespace
}  // namespace flotilla::dispatch
