// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Slots are taken and given back, and tasks in them are opened, cancelled and ended: slot_pool,
// task_table, ticket_word, cancellation.hpp, epoch_reclaimer.

#include <array>
#include <memory>

#include "dispatch/submission/slot_encoding.hpp"
#include "dispatch/task/cancellation.hpp"
#include "dispatch/task/epoch_reclaimer.hpp"
#include "dispatch/task/slot_returns.hpp"
#include "dispatch/task/task_table.hpp"
#include "memory_order/subjects.hpp"

namespace flotilla::test::memory_order {
namespace {

using namespace dispatch;
constexpr auto relaxed_order = std::memory_order_relaxed;

// The next task of a slot sees what the last one did. At the end, every slot can be taken.
scenario slots_of(std::size_t window) {
  return [window](execution& one) {
    struct state {
      slot_pool pool;
      std::array<int, 40> used{};
      explicit state(std::size_t size) : pool{0, size} {}
    };
    auto const all = std::make_shared<state>(window);
    for (int i = 0; i < 2; ++i) {
      one.thread([all] {
        slot_pool::cursor mine;
        for (int k = 0; k < 2; ++k) {
          if (slot_address const got = all->pool.take(mine); got != no_slot) {
            ++all->used[got];
            all->pool.give_back(got);
          }
        }
        all->pool.release(mine);
      });
    }
    one.at_end([all, window] {
      slot_pool::cursor mine;
      std::size_t taken = 0;
      while (all->pool.take(mine) != no_slot) { ++taken; }
      check(taken == window, "a free slot is neither held nor offered");
    });
  };
}
add_subject const few_slots{"slot_pool: one slot", slots_of(1)};
add_subject const two_blocks{"slot_pool: two blocks", slots_of(33)};

// One thread takes, another gives back. A block that the taker finds full is offered again.
add_subject const handed_over{
    "slot_pool: slots of another thread", [](execution& one) {
      struct state {
        slot_pool pool{0, 1};
        std::atomic<slot_address> handed{no_slot};
        int used = 0;
      };
      auto const all = std::make_shared<state>();
      one.thread([all] {
        slot_pool::cursor mine;
        slot_address const first = all->pool.take(mine);
        all->used = 1;
        all->handed.store(first, std::memory_order_release);
        std::uint32_t const returns = all->pool.returns();
        if (all->pool.take(mine) != no_slot) {
          all->used = 3;
          return;
        }
        if (all->pool.returns() == returns) { return; }
        // slot_taker counts on this: after the counter has changed, there is a slot.
        check(all->pool.take(mine) != no_slot, "a slot came back, but there is none");
        all->used = 3;
      });
      one.thread([all] {
        slot_address const handed = all->handed.load(std::memory_order_acquire);
        if (handed == no_slot) { return; }
        all->used = 2;
        slot_returns returns;
        returns.add(all->pool, handed);
      });
    }};

// A thread that finds no slot in use sees what the tasks did (wait_idle).
add_subject const idle{"slot_pool: any_used", [](execution& one) {
                         static constexpr std::size_t window = 1;
                         struct state {
                           task_table tasks{std::span{&window, 1}, 1};
                           std::atomic<bool> submitted{false};
                           int result = 0;
                         };
                         auto const all = std::make_shared<state>();
                         one.thread([all] {
                           slot_pool& pool = all->tasks.pool_at(0);
                           slot_pool::cursor mine;
                           slot_address const task = pool.take(mine);
                           open_counted(pool[0], 1);
                           all->submitted.store(true, std::memory_order_release);
                           all->result = 1;
                           pool[0].generation.exchange(generation_word::of(2),
                                                       std::memory_order_acq_rel);
                           pool.give_back(task);
                         });
                         one.thread([all] {
                           if (!all->submitted.load(std::memory_order_acquire)) { return; }
                           bool open = false;
                           all->tasks.for_each_open([&](slot_address) { return open = true; });
                           if (!open || !all->tasks.any_open()) {
                             check(all->result == 1, "not idle");
                           }
                         });
                         one.thread([all] {
                           if (!all->submitted.load(std::memory_order_acquire)) { return; }
                           if (all->tasks.pool_at(0).used() == 0) {
                             check(all->result == 1, "not idle");
                           }
                         });
                       }};

// The end of a ticket and the end of its task: the second sees what the first one did.
add_subject const tickets{
    "ticket_word: settle", [](execution& one) {
      struct state {
        slot_pool pool{0, 1};
        std::array<int, 2> did{};
        std::atomic<int> firsts{0};
      };
      auto const all = std::make_shared<state>();
      for (std::size_t i = 0; i < 2; ++i) {
        one.thread([all, i] {
          all->did[i] = 1;
          if (all->pool.ticket_of(0).settle(1)) {
            all->firsts.fetch_add(1, relaxed_order);
          } else {
            check(all->did[1 - i] == 1, "the second does not see the first");
          }
        });
      }
      one.at_end([all] { check(all->firsts.load() == 1, "not exactly one is the first"); });
    }};

/// One slot that a task has. Its next task may begin when the slot was given back.
struct one_task {
  slot_pool pool{0, 1};
  slot_side side;
  int runs = 0, ends = 0, returns = 0;
  bool cancelled = false;
  int ended_by = 0, dequeued_by = 0;  // written before the thread lets go of the slot

  one_task() { open(); }
  slot& task() { return pool[0]; }
  void open() {
    bulk_end_command what;
    encode(task(), side, what, device_option{}, 0, 1);
    open_counted(task(), 1);
  }
  /// The next task of the slot overwrites all.
  void give_back() { ended_by = dequeued_by = ++returns; }

  /// What ticket::cancel does.
  void cancel() {
    if (request_cancel(task(), 1) != cancel_answer::will_not_run) { return; }
    cancelled = true;
    if (!claim_early_end(task(), 1)) { return; }
    ++ends;
    ended_by = 1;
    task().generation.fetch_add(generation_word::of(1), std::memory_order_acq_rel);
    if (leave_early_end(task())) { give_back(); }
  }
  /// What the holder of the lease does.
  void launch() {
    if (!cancelled_before_launch(task())) {
      ++runs;
      ++ends;
      task().generation.exchange(generation_word::of(2), std::memory_order_acq_rel);
      give_back();
    } else if (take_end(task())) {
      ++ends;
      task().generation.exchange(generation_word::of(2), std::memory_order_acq_rel);
      give_back();
    } else {
      dequeued_by = 1;
      if (leave_queue(task())) { give_back(); }
    }
  }
};

// A task runs or is cancelled, but never both, and ends once.
add_subject const cancels{"cancellation: one canceller",
                          [](execution& one) {
                            auto const all = std::make_shared<one_task>();
                            one.thread([all] { all->cancel(); });
                            one.thread([all] { all->launch(); });
                            one.at_end([all] {
                              check(!all->cancelled || all->runs == 0, "a cancelled task has run");
                              check(all->ends == 1, "a task has not ended once");
                              check(all->returns == 1, "a slot was not given back once");
                            });
                          },
                          2};

// A request never reaches the next task of the slot.
add_subject const late_cancels{
    "cancellation: the next task of the slot", [](execution& one) {
      auto const all = std::make_shared<one_task>();
      one.thread([all] { static_cast<void>(request_cancel(all->task(), 1)); });
      one.thread([all] {
        bool const runs = !cancelled_before_launch(all->task());
        if (!runs && !take_end(all->task())) { return; }
        all->task().generation.exchange(generation_word::of(2), std::memory_order_acq_rel);
        all->open();
        check(!is_cancelled(all->task()), "the next task of the slot was cancelled");
      });
    }};

// A thread that sees the generation of a task sees the words of this task (task_query::has_ended).
add_subject const words{
    "open_counted: words of the slot", [](execution& one) {
      auto const all = std::make_shared<one_task>();
      all->task().end.store(7, relaxed_order);  // the mark of the first task
      one.thread([all] {
        all->task().generation.exchange(generation_word::of(2), std::memory_order_seq_cst);
        all->open();
      });
      one.thread([all] {
        generation_word const word{all->task().generation.load(std::memory_order_acquire)};
        std::uint64_t const end = all->task().end.load(std::memory_order_acquire);
        check(word.generation() != 3 || end == 0, "the end mark of the slot's last task");
      });
    }};

// A buffer is freed only when no open task can use it.
add_subject const epochs{
    "epoch_reclaimer: retired buffers", [](execution& one) {
      static constexpr std::size_t window = 1;
      struct state {
        task_table tasks{std::span{&window, 1}, 1};
        epoch_reclaimer reclaimer;
        std::atomic<bool> submitted{false};
        int buffer = 0;
        slot_side side;
      };
      auto const all = std::make_shared<state>();
      one.thread([all] {  // submits a task, which another thread would run
        slot& task = all->tasks.at(0);
        slot_pool::cursor mine;
        static_cast<void>(all->tasks.pool_at(0).take(mine));
        bulk_end_command what;
        encode(task, all->side, what, device_option{}, 0, all->reclaimer.epoch());
        open_counted(task, 1);
        all->submitted.store(true, std::memory_order_release);
        all->buffer = 1;
        task.generation.exchange(generation_word::of(2), std::memory_order_acq_rel);
      });
      one.thread([all] {  // destroys the buffer
        if (!all->submitted.load(std::memory_order_acquire)) { return; }
        all->reclaimer.retire({.kind = epoch_reclaimer::kinds::device_memory});
      });
      one.thread([all] {  // frees it
        if (all->reclaimer.empty()) { return; }
        std::uint64_t const pinned = all->reclaimer.oldest_pinned();
        std::uint64_t const oldest = all->tasks.oldest_epoch(pinned);
        if (all->reclaimer.take(oldest, [](auto const&) { return true; })) { all->buffer = 2; }
      });
    }};

}  // namespace
}  // namespace flotilla::test::memory_order
