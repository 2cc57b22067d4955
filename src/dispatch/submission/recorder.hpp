// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The implementation of a recording.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <flotilla/task/recording.hpp>

#include "base/access.hpp"
#include "dispatch/check/recorded_order.hpp"
#include "dispatch/recording/recorded_parts.hpp"
#include "dispatch/recording/recording_plan.hpp"
#include "dispatch/submission/submitter.hpp"
#include "dispatch/waiting/control.hpp"

namespace flotilla::dispatch {

/// Implements a recording: collects tasks, builds the graphs of their parts once, and submits one
/// task per part for each replay.
class recorder {
 public:
  struct config {
    runtime_parts const& shared;
    device_set const& devices;
    usage_guard const& usage;
    validation const& valid;
    slot_taker const& slots;
    submitter const& tasks;
    control const& operations;
    submit_checks* checks;  // null: no checks
  };
  /// @throws used_after_fork
  explicit recorder(config const& with);
  /// Retires the graphs. They are freed after the last replay has ended.
  ~recorder();
  recorder(recorder const&) = delete;
  recorder& operator=(recorder const&) = delete;
  /// Returns the number of the runtime. This call is valid even after the runtime has ended.
  [[nodiscard]] std::uint64_t runtime() const noexcept { return runtime_; }
  /// Makes the destructor leave the graphs alone, because the runtime has ended and freed them.
  void forget_graphs() noexcept { parts_.clear(); }

  template <class Action>
  recorded_task add(Action const& what, recorded_options const& options);
  template <class Action>
  void set(recorded_task which, Action const& what);
  void finish();
  ticket replay(replay_options const& options);
  /// Replays for a flow. Never waits, and runs no user code. `finish` must have been called. The
  /// replay is posted, and its failure is kept (see generation_word).
  /// @return the last task of the replay, which ends after all others; empty if a window is full.
  [[nodiscard]] std::optional<task_id> try_replay(replay_options const& options);
  /// Waits until the windows have room for a replay. Another thread can take the room.
  /// @throws the exceptions of slot_taker::take_all
  void wait_for_room(int priority) const;
  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }

 private:
  struct part {
    unsigned device = 0;
    std::uint32_t index = 0;  // index in recorded_parts
    std::shared_ptr<recorded_part> built{};
    std::vector<std::uint32_t> parts_ahead{};
    task_id previous{};                          // this part's task in the previous replay
    std::uint32_t changes = change_lists::none;  // index of the changes since that replay
    change_list* changing = nullptr;             // the list with the index `changes`
  };
  /// Returns whether the id names a task of this recording. If so, the id's `slot` is the index of
  /// the task.
  [[nodiscard]] bool holds(task_id task) const noexcept {
    return detail::access::is_recorded(task) && detail::access::recording_of(task) == number_;
  }
  /// Throws the error for an id that `holds` rejects. Separate from `holds`, so that `set` builds
  /// an error text only on failure.
  /// @param subject  The beginning of the error text.
  [[noreturn]] void refuse(task_id task, std::string const& subject) const;
  /// Throws the error for a task that is added after `finish`.
  template <class Action>
  [[noreturn]] void refuse_late(Action const& what) const;
  /// Throws if the action cannot be recorded. Returns the device on which it runs.
  unsigned check(launch const& what, std::optional<device_ordinal> device) const;
  unsigned check(detail::memory_command const& what, std::optional<device_ordinal> device) const;
  [[nodiscard]] std::vector<part> build(recording_plan const& plan);
  /// Takes the words with which the parts wait for each other. @return null if there is one part.
  [[nodiscard]] std::shared_ptr<replay_group> make_group(recording_plan const& plan);
  [[nodiscard]] part build_part(planned_part const& planned, std::shared_ptr<replay_group> group,
                                std::uint32_t number_in_group);
  void retire(std::vector<part> const& parts) noexcept;
  [[nodiscard]] bool checks_order() const noexcept {
    return with_.checks != nullptr && with_.checks->which().order;
  }
  void fill(slot_address slot, std::size_t number, replay_options const& options,
            std::span<task_id const> now);
  /// Checks the order of the replay and of other tasks that use the same memory.
  /// @throws missing_dependency
  void check_order(slot_address last, task_options how, replay_options const& options);
  class replay_room;
  /// Submits one task for each part. If it throws, it has given the slots back.
  /// @param room  Its slots are taken. Receives the ids and tickets.
  void submit(replay_room& room, replay_options const& options, bool is_posted);

  config const with_;
  std::uint64_t const runtime_;  // the number of the runtime
  std::uint64_t const number_;   // unique in this process
  task_order tasks_;
  // The action of each task. After `finish`, `set` compares only their kinds, because a node of a
  // graph cannot change its kind.
  change_list actions_{0};
  // The memory that each task uses now. Empty unless the runtime checks the order of tasks. After
  // `finish`, replaying_ guards it.
  recorded_order order_;
  std::vector<recording_plan::place> places_;
  std::mutex building_;  // held by `finish`, even while it waits for leases
  std::atomic<bool> finished_{false};
  std::mutex replaying_;  // locked briefly; serializes replays and calls of `set`
  // Constant after `finish`, except `previous`, `changes` and `changing` of each part, which
  // replaying_ guards.
  std::vector<part> parts_;
  std::vector<unsigned> devices_;  // the device of each part
  std::uint64_t replays_ = 0;      // guarded by replaying_
};

}  // namespace flotilla::dispatch
