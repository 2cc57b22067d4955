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
#include "dispatch/recording/recorded_parts.hpp"
#include "dispatch/recording/recording_plan.hpp"
#include "dispatch/submission/submitter.hpp"
#include "dispatch/waiting/control.hpp"

namespace flotilla::dispatch {

/// Collects tasks, builds the graphs of their parts once, and submits every part as a task for each
/// replay.
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
  };
  /// @throws used_after_fork
  explicit recorder(config const& with);
  /// The graphs are freed after the last replay.
  ~recorder();
  recorder(recorder const&) = delete;
  recorder& operator=(recorder const&) = delete;

  recorded_task add(recorded_action what, recorded_options const& options);
  template <class Action>
  void set(recorded_task which, Action const& what);
  void finish();
  ticket replay(replay_options const& options);
  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }

 private:
  struct part {
    unsigned device = 0;
    std::uint32_t index = 0;  // in recorded_parts
    std::shared_ptr<recorded_part> built{};
    std::vector<std::uint32_t> parts_ahead{};
    task_id previous{};                          // its task in the last replay
    std::uint32_t changes = change_lists::none;  // the change list since that replay
    change_list* changing = nullptr;             // the list with the index `changes`
  };
  /// Whether the id names a task of this recording; its `slot` is the task's index then.
  [[nodiscard]] bool holds(task_id task) const noexcept {
    return detail::access::is_recorded(task) && detail::access::recording_of(task) == number_;
  }
  /// Apart from `holds`, because `set` must not build a text.
  /// @param subject  Begins the message.
  [[noreturn]] void refuse(task_id task, std::string const& subject) const;
  /// @return the device that it is for.
  unsigned check(launch const& what, std::optional<device_ordinal> device) const;
  unsigned check(detail::memory_command const& what, std::optional<device_ordinal> device) const;
  [[nodiscard]] std::vector<part> build(recording_plan const& plan);
  void check_windows(recording_plan const& plan) const;
  void retire(std::vector<part> const& parts) noexcept;
  void fill(slot_address slot, std::size_t number, replay_options const& options,
            std::span<task_id const> now);

  config const with_;
  std::uint64_t const number_;  // unique in this process
  std::vector<task_to_plan> tasks_;
  // By task, until the recording is finished. Afterwards only the kinds count, because a node keeps
  // its kind.
  std::vector<recorded_action> actions_;
  std::vector<recording_plan::place> places_;
  std::mutex building_;  // held while waiting for devices
  std::atomic<bool> finished_{false};
  std::mutex replaying_;  // held briefly: gives replays and their changes one order
  // Constant after `finish`, except `previous`, `changes` and `changing`, which replaying_ guards.
  std::vector<part> parts_;
  std::vector<unsigned> devices_;  // of the parts
};

}  // namespace flotilla::dispatch
