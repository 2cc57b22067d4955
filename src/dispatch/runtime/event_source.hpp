// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The descriptor of `event_fd`, and the thread that watches the devices for it.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "dispatch/device/device_set.hpp"
#include "dispatch/runtime/event_signal.hpp"
#include "dispatch/waiting/continuation_runner.hpp"

namespace flotilla::dispatch {

/// Raises the signal when an event loop should pump. Does nothing before the first call of
/// `descriptor`.
///
/// Threads that announce work, end tasks or make continuations due tell the doorbell, which tells
/// this class. Only the devices tell nobody when they complete a batch, so a thread watches them.
/// The thread sleeps while nothing is in flight or while the signal is raised. To sleep, it sets
/// `asleep_` and then looks once more. Threads that release a lease or clear the signal read
/// `asleep_` afterwards (tests/unit/dispatch/runtime/event_model_test.cpp). Threads: any.
class event_source final : public doorbell::listener {
 public:
  event_source(runtime_parts const& shared, device_set const& devices,
               continuation_runner const& continuations, doorbell& bell) noexcept
      : shared_(shared), devices_(devices), continuations_(continuations), bell_(bell) {}
  ~event_source() { stop(); }
  event_source(event_source const&) = delete;
  event_source& operator=(event_source const&) = delete;

  /// Returns the descriptor. The first call makes the descriptor and starts the thread. @throws
  /// std::system_error, std::bad_alloc
  [[nodiscard]] int descriptor();
  /// Ends the thread and closes the descriptor. Called when the runtime ends.
  void stop() noexcept;

  /// One call of `pump`. Clears the signal at the beginning. At the end, raises the signal if the
  /// pump has left work that another pump could do at once.
  class pumping {
   public:
    explicit pumping(event_source& events) noexcept;
    ~pumping();
    pumping(pumping const&) = delete;
    pumping& operator=(pumping const&) = delete;
    /// Call this if a drain of this pump made progress.
    void note_progress() noexcept { moved_ = true; }

   private:
    event_source* const events_;           // null if there is no descriptor
    event_source const* outer_ = nullptr;  // of the pump in which this pump is nested
    bool moved_ = false;
  };

  // ---- doorbell::listener ----
  void work_announced() noexcept override;
  void continuation_changed() noexcept override;
  void task_ended() noexcept override;
  void lease_released() noexcept override;

 private:
  using clock = std::chrono::steady_clock;

  void run() noexcept;
  /// Sleeps while there is nothing to watch. @return false if the thread must end.
  [[nodiscard]] bool sleep_until_needed();
  /// Sleeps until the next look. @return false if the thread must end.
  [[nodiscard]] bool nap(clock::duration time);
  [[nodiscard]] bool must_watch() const noexcept;
  void wake() noexcept;

  runtime_parts const& shared_;
  device_set const& devices_;
  continuation_runner const& continuations_;
  doorbell& bell_;

  std::mutex start_mutex_;
  std::unique_ptr<event_signal> signal_;   // written with start_mutex_ locked, before started_
  std::atomic<bool> started_{false};       // whether signal_ exists
  std::atomic<bool> has_new_work_{false};  // work was announced since the thread last looked
  std::atomic<bool> asleep_{false};        // the thread needs `wake`
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace flotilla::dispatch
