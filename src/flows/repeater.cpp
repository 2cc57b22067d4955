// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/repeater.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "dispatch/task/callable_frame.hpp"
#include "flows/repetition.hpp"

namespace flotilla::flows {

/// While it exists, the flow logs the iteration.
class repeater::log_scope {
 public:
  log_scope(parts const& with, iteration_log& log) : with_(with) {
    std::lock_guard const lock{with_.mutex};
    task_log& all = with_.planner.log();
    if (all.iteration() != nullptr) { return; }
    all.set_iteration(&log);
    is_on_ = true;
  }
  log_scope(log_scope const&) = delete;
  log_scope& operator=(log_scope const&) = delete;
  ~log_scope() {
    if (is_on_) { static_cast<void>(end()); }
  }
  [[nodiscard]] bool is_on() const noexcept { return is_on_; }
  /// @return how many changes of data the flow has seen.
  [[nodiscard]] std::uint64_t end() noexcept {
    std::lock_guard const lock{with_.mutex};
    is_on_ = false;
    with_.planner.log().set_iteration(nullptr);
    return with_.planner.log().changes();
  }

 private:
  parts const& with_;
  bool is_on_ = false;
};

bool repeater::may_replay() const noexcept {
  bool const may_wait = dispatch::callable_frame::innermost(with_.runtime.number) == nullptr &&
                        !with_.runtime.runner.inside();
  return may_wait && with_.runtime.checks == nullptr && !with_.planner.log().graph().is_on();
}

std::optional<std::uint64_t> repeater::run_logged(iteration_log& log) {
  log_scope scope{with_, log};
  if (!scope.is_on()) { return std::nullopt; }
  iteration_();
  --left_;
  return scope.end();
}

void repeater::run(std::size_t count) {
  constexpr std::size_t least = 4;  // fewer iterations are not worth a recording
  left_ = count;
  unsigned tries = may_replay() && count > least ? 8 : 0;
  auto const run_plainly = [this] {
    iteration_();
    --left_;
  };
  // The first iteration often has copies that the others do not have.
  if (left_ != 0) { run_plainly(); }
  std::unique_ptr<iteration_log> before;
  while (left_ != 0) {
    if (tries == 0) {
      run_plainly();
      continue;
    }
    --tries;
    auto log = std::make_unique<iteration_log>(before.get());
    std::optional<std::uint64_t> const changes = run_logged(*log);
    if (!changes) {
      tries = 0;
      continue;
    }
    bool const is_steady = before != nullptr && before->is_replayable() && log->is_replayable() &&
                           log->equals(*before);
    if (is_steady && left_ != 0 && !replay(*log, *changes)) { tries = 0; }
    before = std::move(log);
  }
}

bool repeater::replay(iteration_log const& log, std::uint64_t changes) {
  constexpr std::size_t at_once = 256;
  std::unique_ptr<repetition> replays;
  try {
    replays = std::make_unique<repetition>(with_.runtime, with_.planner, log.steps());
  } catch (std::exception const&) {
    return false;  // for example, a copy of pageable memory
  }
  struct end_of_replays {
    std::mutex& mutex;
    repetition& replays;
    ~end_of_replays() {
      std::lock_guard const lock{mutex};
      replays.end();
    }
  } const end{with_.mutex, *replays};
  std::optional<task_id> previous;  // the last replay of the last round but one
  while (left_ != 0) {
    std::optional<task_id> const last = replays->last();
    obstacle why;
    std::size_t done = 0;
    {
      std::lock_guard const lock{with_.mutex};
      if (with_.planner.log().changes() != changes) { return true; }
      try {
        why = replays->submit(std::min(left_, at_once), done);
      } catch (...) {
        left_ -= done;
        throw;
      }
      left_ -= done;
      with_.planner.log().note_change();  // another thread may log an iteration
      changes = with_.planner.log().changes();
    }
    // Replays would fill the window, and then other threads could not submit.
    if (previous) { with_.host.wait_for(*previous); }
    if (done == 0) { with_.resolver.resolve(why); }
    previous = last;
  }
  return true;
}

}  // namespace flotilla::flows
