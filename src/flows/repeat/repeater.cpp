// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/repeat/repeater.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "flows/repeat/repetition.hpp"

namespace flotilla::flows {

namespace {
constexpr std::size_t least = 5;  // fewer iterations are not worth a recording
}  // namespace

/// While it exists, the flow logs the iteration.
class repeater::log_scope {
 public:
  log_scope(parts const& with, iteration_log& log) : with_(with) {
    std::lock_guard const lock{with_.mutex};
    task_log& all = with_.planner.log();
    is_on_ = all.iteration() == nullptr;
    if (!is_on_) { return; }
    all.set_iteration(&log);
    seen_.changes_before = all.changes();
    seen_.uses.assign(with_.planner.uses().begin(), with_.planner.uses().end());
  }
  log_scope(log_scope const&) = delete;
  log_scope& operator=(log_scope const&) = delete;
  ~log_scope() {
    if (is_on_) { static_cast<void>(end()); }
  }
  [[nodiscard]] bool is_on() const noexcept { return is_on_; }
  [[nodiscard]] effect end() noexcept {
    std::lock_guard const lock{with_.mutex};
    is_on_ = false;
    with_.planner.log().set_iteration(nullptr);
    seen_.changes_after = with_.planner.log().changes();
    std::span<use_counts const> const now = with_.planner.uses();
    for (std::size_t i = 0; i < now.size(); ++i) {
      seen_.uses[i] = {now[i].hits - seen_.uses[i].hits, now[i].misses - seen_.uses[i].misses};
    }
    return std::move(seen_);
  }

 private:
  parts const& with_;
  bool is_on_ = false;
  effect seen_{};
};

char const* repeater::why_not(std::size_t count) const noexcept {
  if (count < least) { return "there are fewer than 5 iterations"; }
  // A thread in a callable or continuation must not wait for replays.
  if (dispatch::is_inside_user_code(with_.runtime)) {
    return "it is called inside a callable, host task or continuation";
  }
  if (with_.runtime.checks != nullptr) { return "the runtime makes checks (FLOTILLA_CHECK)"; }
  if (with_.planner.log().graph().is_on()) { return "the flow keeps its graph (keeps_graph)"; }
  return nullptr;
}

void repeater::explain(std::size_t count) const noexcept {
  bool const is_worth_a_line = count >= least && base::is_logged(log_level::info);
  if (!with_.explains && !is_worth_a_line) { return; }
  try {
    std::string text = "flow::repeat ";
    if (replayed_ != 0) {
      text +=
          "replays " + std::to_string(replayed_) + " of " + std::to_string(count) + " iterations";
    } else {
      text += "calls its function for each of " + std::to_string(count) + " iterations, because " +
              why_;
    }
    if (with_.explains) {
      base::explain(text);
    } else {
      base::log(log_level::info, text);
    }
  } catch (std::bad_alloc const&) {  // only a message is lost
  }
}

void repeater::run_plainly() {
  iteration_();
  note_done(1);
}

void repeater::check(std::uint64_t& seen) {
  if (!is_check_due()) { return; }
  since_check_ = 0;
  detail::placed_data const value = with_.read(*condition_->value.what, seen);
  if (!condition_->goes_on(value)) { left_ = 0; }
}

std::optional<repeater::effect> repeater::run_logged(iteration_log& log) {
  log_scope scope{with_, log};
  run_plainly();
  return scope.is_on() ? std::optional{scope.end()} : std::nullopt;
}

std::size_t repeater::run(std::size_t count) {
  left_ = count;
  char const* const no_replays = why_not(count);
  if (no_replays != nullptr) { why_ = no_replays; }
  unsigned tries = no_replays == nullptr ? 8 : 0;
  // The first iteration often has copies that the others do not have.
  if (left_ != 0) { run_plainly(); }
  std::unique_ptr<iteration_log> before;  // of the iteration before, if it can be replayed
  std::uint64_t seen = 0;                 // changes after it
  while (true) {
    check(seen);
    if (left_ == 0) { break; }
    if (tries == 0) {
      run_plainly();
      continue;
    }
    auto log = std::make_unique<iteration_log>(with_.runtime, before.get());
    std::optional<effect> const now = run_logged(*log);
    if (!now) {
      why_ = "another call of repeat uses the flow";
      before.reset();
      continue;
    }
    --tries;
    // If another thread has changed data between the two iterations, their steps can be equal
    // although the next ones would differ.
    bool const is_steady = before != nullptr && now->changes_before == seen &&
                           log->is_replayable() && log->equals(*before);
    if (!log->is_replayable()) {
      why_ = log->why_not();
    } else if (!is_steady) {
      why_ = before != nullptr && now->changes_before != seen
                 ? "another thread uses the flow"
                 : "two iterations in a row submitted different tasks, copies or arguments";
    }
    seen = now->changes_after;
    if (is_steady && left_ != 0 && !replay(*log, *now, seen)) { tries = 0; }
    before = log->is_replayable() ? std::move(log) : nullptr;
  }
  if (done_ != 0) { explain(done_); }
  return done_;
}

bool repeater::replay(iteration_log const& log, effect const& last_effect, std::uint64_t& seen) {
  constexpr std::size_t at_once = 256;
  std::unique_ptr<repetition> replays;
  try {
    replays =
        std::make_unique<repetition>(with_.runtime, with_.planner, log.steps(), last_effect.uses);
  } catch (std::exception const& why) {
    why_ = "it cannot be recorded: " + std::string{why.what()};
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
  while (true) {
    if (is_check_due()) {
      if (auto const newest = replays->last()) {
        with_.host.wait_for(*newest);
        if (with_.runtime.query.failure_of(*newest) != nullptr) { return true; }
      }
      previous.reset();
      check(seen);
      std::lock_guard const lock{with_.mutex};
      replays->restart();
    }
    if (left_ == 0) { return true; }
    std::optional<task_id> const last = replays->last();
    obstacle why;
    std::size_t done = 0;
    {
      std::lock_guard const lock{with_.mutex};
      if (with_.planner.log().changes() != seen) {
        why_ = "another thread uses the flow";
        return true;
      }
      try {
        why = replays->submit(std::min(before_check(), at_once), done);
      } catch (...) {
        note_done(done);
        throw;
      }
      note_done(done);
      replayed_ += done;
      seen = with_.planner.log().changes();
    }
    if (why) {
      with_.resolver.resolve(why);
    } else if (done == 0) {
      replays->wait_for_room();
    }
    // Replays would fill the windows, and then other threads could not submit.
    if (previous) {
      with_.host.wait_for(*previous);
      // Replays depend on each other. So if one has failed, call the iteration again: tasks that
      // only write make lost data valid.
      if (with_.runtime.query.failure_of(*previous) != nullptr) { return true; }
    }
    previous = last;
  }
}

}  // namespace flotilla::flows
