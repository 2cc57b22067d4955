// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implements flow::repeat.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/runtime/runtime_state.hpp"
#include "flows/log/iteration_log.hpp"
#include "flows/order/task_planner.hpp"
#include "flows/repeat/loop_condition.hpp"
#include "flows/waiting/host_access.hpp"
#include "flows/waiting/obstacle_resolver.hpp"

namespace flotilla::flows {

/// Calls an iteration a few times, and logs what it submits. If two calls in a row have submitted
/// the same launches and copies, with the same memory, then all later calls would do so too: the
/// places and the memory of data after an iteration follow from its steps. So it replays the steps
/// as a recording. Otherwise it calls the iteration each time.
///
/// Threads: the calling thread does not hold the flow's mutex.
class repeater {
 public:
  struct parts {
    dispatch::runtime_state& runtime;
    std::mutex& mutex;  // of the flow
    task_planner& planner;
    host_access const& host;
    obstacle_resolver& resolver;
    bool explains;  // whether to explain on stderr what `run` does
    /// Waits until data are valid on the host. If nothing but a copy to the host was necessary,
    /// adds the changes of data that this has caused to `seen`.
    std::function<detail::placed_data(detail::datum&, std::uint64_t& seen)> read;
  };
  /// @param condition  Null: only the number of iterations matters.
  repeater(parts const& with, std::function<void()> const& iteration,
           loop_condition const* condition)
      : with_(with), iteration_(iteration), condition_(condition) {}

  /// @return the number of iterations
  std::size_t run(std::size_t count);

 private:
  class log_scope;

  /// Returns why replays are impossible. Null if they are possible.
  [[nodiscard]] char const* why_not(std::size_t count) const noexcept;
  /// Says once how many iterations were replayed, or why none was.
  void explain(std::size_t count) const noexcept;
  /// What an iteration did to the flow.
  struct effect {
    std::uint64_t changes_before = 0;  // how many changes of data the flow had seen
    std::uint64_t changes_after = 0;
    std::vector<use_counts> uses{};  // what it added to the hits and misses
  };
  void run_plainly();
  void note_done(std::size_t iterations) noexcept {
    done_ += iterations;
    left_ -= iterations;
    since_check_ += iterations;
  }
  [[nodiscard]] bool is_check_due() const noexcept {
    return condition_ != nullptr && since_check_ == condition_->check_every && left_ != 0;
  }
  /// Evaluates the condition of the loop if it is time. Ends the loop if the condition is false.
  /// @param seen  See parts::read.
  void check(std::uint64_t& seen);
  /// Returns how many iterations may be submitted before the next check.
  [[nodiscard]] std::size_t before_check() const noexcept {
    return condition_ == nullptr ? left_ : std::min(left_, condition_->check_every - since_check_);
  }
  /// Calls the iteration and logs it. Empty if another log is open: then the iteration was called
  /// without a log.
  [[nodiscard]] std::optional<effect> run_logged(iteration_log& log);
  /// Submits replays until all iterations are done, or another thread uses the flow.
  /// @param last_effect  The effect of the last iteration.
  /// @param seen         How many changes of data the flow had seen after this iteration.
  /// @return false if the steps cannot be recorded.
  [[nodiscard]] bool replay(iteration_log const& log, effect const& last_effect,
                            std::uint64_t& seen);

  parts const with_;
  std::function<void()> const& iteration_;
  loop_condition const* const condition_;
  std::size_t done_ = 0;         // iterations
  std::size_t left_ = 0;         // iterations
  std::size_t since_check_ = 0;  // iterations
  std::size_t replayed_ = 0;     // iterations
  std::string why_{};            // why the last iterations were not replayed
};

}  // namespace flotilla::flows
