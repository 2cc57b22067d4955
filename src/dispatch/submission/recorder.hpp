#pragma once
// A recording behind its public header.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <flotilla/recording.hpp>

#include "dispatch/core.hpp"
#include "dispatch/recorded_part.hpp"
#include "dispatch/recording_plan.hpp"

namespace flotilla::dispatch {

class recorder {
 public:
  explicit recorder(core& owner);
  /// The driver's part of it is freed behind its last replay.
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
    std::uint32_t index = 0;                  // in the core's store
    std::shared_ptr<recorded_part> built{};
    std::vector<std::uint32_t> parts_ahead{};
    task_id previous{};                       // of the last replay
    std::uint32_t changes = change_lists::none;  // since then
    change_list* changing = nullptr;             // that list
  };
  [[nodiscard]] std::uint32_t checked(recorded_task which, char const* where) const;
  /// @return the device that it is for.
  unsigned check(launch const& what, std::optional<device_ordinal> device) const;
  unsigned check(transfer const& what, std::optional<device_ordinal> device) const;
  [[nodiscard]] std::vector<part> build(recording_plan const& plan);
  void check_windows(recording_plan const& plan) const;
  void give_up(std::vector<part> const& parts) noexcept;
  void fill(slot_address slot, std::size_t number, replay_options const& options, std::span<task_id const> now);

  core& core_;
  std::uint64_t const id_;  // of this process's recordings
  std::vector<task_to_plan> tasks_;
  /// Of the tasks, until it is finished. Then only what kind they are of counts: a node stays of its kind.
  std::vector<recorded_action> actions_;
  std::vector<recording_plan::place> places_;
  std::mutex building_;              // held while devices are waited for
  std::atomic<bool> finished_{false};
  std::mutex replaying_;             // held shortly: replays are in one order, and changes with them
  std::vector<part> parts_;          // constant once finished, but for `previous` and `changes`: by replaying_
  std::vector<unsigned> devices_;    // of the parts
};

}  // namespace flotilla::dispatch
