// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tasks are submitted in one process and drained in another. This is possible because slots, slot
// pools, inboxes and completion numbers contain no addresses. Neither process has a runtime or a
// driver. The test uses these structures directly, in the same way as `submit`, a pass and a ticket
// do.

#include "two_processes.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <deque>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/scale.hpp"

namespace flotilla::dispatch {
namespace {

using namespace two_processes;
using test::eventually;

/// The draining process: it takes tasks from inboxes, computes their results in batches, and ends
/// them later.
class drainer {
 public:
  explicit drainer(view& of) : of_(of) {}
  /// Returns when `tasks` tasks have ended.
  void drain(std::size_t tasks) {
    while (ended_ < tasks) {
      bool moved = false;
      for (unsigned i = 0; i < producers; ++i) {
        std::array<slot_address, 64> got;
        std::size_t const count = of_.box(i).pop(got.data(), got.size());
        if (count != 0) { launch({got.data(), count}); }
        moved = moved || count != 0;
      }
      // Ends the tasks of a batch late, so that waiting threads first see the completion number,
      // and the new generation only later. If no tasks arrive, ends all batches.
      while (!batches_.empty() && (!moved || batches_.size() > 4)) { collect(); }
      if (!moved) { std::this_thread::yield(); }
    }
  }

 private:
  void launch(std::span<slot_address const> tasks) {
    unsigned const lane = next_++ % lanes;
    end_mark const end = end_mark::of(0, lane, ++last_[lane]);
    for (slot_address const each : tasks) {
      slot& task = of_.at(each);
      if (!generation_word{task.generation.load(std::memory_order_acquire)}.open()) {
        ++of_.head().reused;
      }
      for (unsigned i = 0; i < task.dependencies; ++i) {
        if (!is_launched(task.after_slot[i], task.after_generation[i])) { ++of_.head().unordered; }
      }
      task.end.store(end.word, std::memory_order_release);  // pairs with the acquire in has_ended
    }
    for (slot_address const each : tasks) {  // computes the results in place of a device
      slot const& task = of_.at(each);
      of_.results()[id_of(task)] += result_of(task);
    }
    // release: pairs with the acquire in has_ended
    of_.head().done[lane].number.store(end.number(), std::memory_order_release);
    batches_.emplace_back(tasks.begin(), tasks.end());
  }

  /// Returns whether the task is launched or has ended, as dependencies::look does.
  bool is_launched(slot_address address, std::uint32_t generation) {
    slot& of = of_.at(address);
    generation_word const now{of.generation.load(std::memory_order_acquire)};
    return static_cast<std::uint32_t>(now.generation()) != generation ||
           end_mark{of.end.load(std::memory_order_acquire)}.valid();
  }

  void collect() {
    slot_returns back;
    for (slot_address const each : batches_.front()) {
      slot& task = of_.at(each);
      generation_word const open{task.generation.load(std::memory_order_relaxed)};
      generation_word const before{task.generation.exchange(
          generation_word::of(open.generation() + 1), std::memory_order_acq_rel)};
      if (!before.open()) { ++of_.head().reused; }
      if (!of_.pool.ticket_of(each & 0xffff).settle(before.generation())) { ++of_.head().dropped; }
      back.add(of_.pool, each);
    }
    ended_ += batches_.front().size();
    batches_.pop_front();
  }

  view& of_;
  unsigned next_ = 0;
  std::array<std::uint64_t, lanes> last_{};
  std::deque<std::vector<slot_address>> batches_;
  std::size_t ended_ = 0;
};

/// A thread that submits tasks and keeps the latest tickets.
class producer {
 public:
  producer(view& of, unsigned number) : of_(of), inbox_(of.box(number)) {}
  /// Submits the tasks [first, last). @return false after a timeout.
  bool produce(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t id = first; id < last; ++id) {
      held& mine = tickets_[id % tickets_.size()];
      if (!let_go(mine) || !submit(id, id - first, mine)) { return false; }
    }
    for (held& each : tickets_) {
      if (!let_go(each)) { return false; }
    }
    of_.pool.release(inbox_.slots());
    return true;
  }
  [[nodiscard]] std::size_t dropped_open() const { return dropped_open_; }
  [[nodiscard]] std::size_t wrong() const { return wrong_; }

 private:
  struct held {
    slot_address slot = no_slot;
    std::uint64_t generation = 0;
    std::uint64_t id = 0;
  };

  /// Submits a task as submitter::submit does.
  bool submit(std::uint64_t id, std::uint64_t before, held& ticket) {
    slot_address const address = take_slot();
    if (address == no_slot) { return false; }
    slot& made = of_.at(address);
    // acquire: another thread of this process may have used the slot before. The draining process
    // has already ordered the accesses of the two threads. ThreadSanitizer cannot see that process,
    // so it needs this acquire.
    std::uint64_t const generation =
        generation_word{made.generation.load(std::memory_order_acquire)}.generation() + 1;
    fill(made, id);
    made.dependencies =
        static_cast<std::uint16_t>(std::min(before, id % (slot::inline_dependencies + 1)));
    for (unsigned i = 0; i < made.dependencies; ++i) {
      held const& ahead = tickets_[(id - 1 - i) % tickets_.size()];
      made.after_slot[i] = ahead.slot;
      made.after_generation[i] = static_cast<std::uint32_t>(ahead.generation);
    }
    made.end.store(0, std::memory_order_relaxed);
    made.generation.store(generation_word::of(generation), std::memory_order_release);
    ticket = {address, generation, id};
    inbox_.push(address);
    return true;
  }

  slot_address take_slot() {
    slot_address got = no_slot;
    static_cast<void>(eventually([&] {
      std::uint32_t const seen = of_.pool.returns();
      got = of_.pool.take(inbox_.slots());
      if (got == no_slot) { got = of_.pool.take_any(); }
      return got != no_slot || !eventually([&] { return of_.pool.returns() != seen; });
    }));
    return got;
  }

  /// Drops the ticket of every fourth task without waiting. Waits for each other task, and checks
  /// its result.
  bool let_go(held& ticket) {
    if (ticket.slot == no_slot) { return true; }
    if (ticket.id % 4 == 0) {
      if (of_.pool.ticket_of(ticket.slot & 0xffff).settle(ticket.generation)) { ++dropped_open_; }
      return true;
    }
    if (!eventually([&] { return has_ended(ticket); })) { return false; }
    slot scratch{};
    fill(scratch, ticket.id);
    if (of_.results()[ticket.id] != result_of(scratch)) { ++wrong_; }
    return true;
  }

  /// Checks the generation, then the completion number, and then the generation again, as
  /// task_query::has_ended does.
  bool has_ended(held const& ticket) {
    slot& of = of_.at(ticket.slot);
    auto const gone = [&] {
      return generation_word{of.generation.load(std::memory_order_acquire)}.generation() !=
             ticket.generation;
    };
    if (gone()) { return true; }
    end_mark const end{of.end.load(std::memory_order_acquire)};
    if (!end.valid()) { return gone(); }
    return of_.head().done[end.lane()].number.load(std::memory_order_acquire) >= end.number() ||
           gone();
  }

  view& of_;
  inbox& inbox_;
  std::array<held, 64> tickets_;
  std::size_t dropped_open_ = 0;
  std::size_t wrong_ = 0;
};

// requirement, stress
TEST(TwoProcesses, OneSubmitsAndTheOtherDrains) {
  std::size_t const tasks = test::scaled(1'500'000, 10'000);
  memory_file const memory{view::bytes(tasks)};
  // The memory is mapped twice before the fork. Each process keeps one mapping, so the addresses
  // differ.
  std::optional<view> here{std::in_place, memory.file(), tasks};
  std::optional<view> there{std::in_place, memory.file(), tasks};
  ASSERT_NE(here->address(), there->address());
  here->make_inboxes();
  pid_t const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(2 * static_cast<unsigned>(test::test_timeout.count()));
    here.reset();
    drainer{*there}.drain(tasks);
    ::_exit(0);
  }
  there.reset();

  std::deque<producer> all;
  std::atomic<unsigned> gave_up{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < producers; ++i) {
      producer& mine = all.emplace_back(*here, i);
      threads.emplace_back([&, i] {
        if (!mine.produce(tasks * i / producers, tasks * (i + 1) / producers)) { ++gave_up; }
      });
    }
  }
  if (gave_up != 0) { ::kill(child, SIGKILL); }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the drainer ended with " << status;
  ASSERT_EQ(gave_up, 0u) << "a producer timed out";

  std::size_t dropped_open = 0, lost_or_twice = 0;
  for (producer const& each : all) {
    EXPECT_EQ(each.wrong(), 0u) << "a ticket was ready before its task's result";
    dropped_open += each.dropped_open();
  }
  for (std::size_t id = 0; id < tasks; ++id) {
    slot scratch{};
    fill(scratch, id);
    if (here->results()[id] != result_of(scratch)) { ++lost_or_twice; }
  }
  EXPECT_EQ(lost_or_twice, 0u) << "missing or doubled results of " << tasks << " tasks";
  EXPECT_EQ(here->head().unordered, 0u);
  EXPECT_EQ(here->head().reused, 0u);
  EXPECT_EQ(here->head().dropped, dropped_open)
      << "the end of a task did not see the drop of its ticket";
  EXPECT_EQ(here->pool.used(), 0u);
  for (std::size_t i = 0; i < window; ++i) {
    EXPECT_NE(here->pool.take_any(), no_slot) << "a slot was lost";
  }
}

}  // namespace
}  // namespace flotilla::dispatch
