// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reports waits that last long, and what they wait for.

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "dispatch/fault/task_text.hpp"
#include "dispatch/lane/completion_board.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// A program that hangs in a wait, or at the end of a runtime, says so on stderr. Each wait is
/// reported at most once. After each report of a runtime, the limit doubles, so that a program in
/// which long waits are normal prints few lines. The end of a runtime has the first limit. Threads:
/// any.
class slow_waits {
 public:
  using clock = std::chrono::steady_clock;

  struct wait {
    char const* what;  // such as "a wait"
    clock::time_point begun;
    std::optional<slot_address> awaited{};  // empty: the wait is for several tasks
    bool is_end = false;                    // whether this is the end of the runtime
    bool is_reported = false;
  };

  /// A wait that sleeps in the driver. Another thread must look at it.
  class sleep : public boost::intrusive::list_base_hook<> {
   public:
    sleep(slow_waits& of, slot_address awaited) noexcept;
    ~sleep();
    sleep(sleep const&) = delete;
    sleep& operator=(sleep const&) = delete;

   private:
    friend class slow_waits;
    slow_waits& of_;
    wait wait_;  // is_reported is guarded by the mutex of slow_waits
  };

  /// @param limit  Waits that last longer are reported. Zero: none.
  slow_waits(clock::duration limit, task_table const& tasks, completion_board const& board,
             task_text const& text) noexcept
      : first_limit_(limit), limit_(limit.count()), tasks_(tasks), board_(board), text_(text) {}

  [[nodiscard]] bool is_active() const noexcept { return first_limit_ > clock::duration::zero(); }
  /// The interval at which a thread should call `look_at_sleeps`.
  [[nodiscard]] clock::duration interval() const noexcept;
  /// Reports the wait if it lasts too long and was not reported.
  void look_at(wait& one) noexcept;
  /// The same for all waits that sleep in the driver.
  void look_at_sleeps() noexcept;

 private:
  /// Returns whether to report the wait now. If so, marks it as reported.
  [[nodiscard]] bool is_due(wait& one) noexcept;
  /// Call it without the mutex: the log may call a function of the program.
  void report(wait const& one) const noexcept;
  /// Describes what the wait is for, and what runs meanwhile.
  [[nodiscard]] std::string describe(wait const& one) const;
  /// Describes some open tasks. Prefers tasks that the devices have got.
  [[nodiscard]] std::string describe_open() const;
  [[nodiscard]] std::string describe(slot_address task) const;
  [[nodiscard]] bool is_on_device(slot_address task) const noexcept;

  clock::duration const first_limit_;
  std::atomic<clock::duration::rep> limit_;
  task_table const& tasks_;
  completion_board const& board_;
  task_text const& text_;
  std::mutex mutex_;
  boost::intrusive::list<sleep> sleeps_;  // guarded by mutex_
};

}  // namespace flotilla::dispatch
