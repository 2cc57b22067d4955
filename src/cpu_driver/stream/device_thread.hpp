#pragma once
// The thread of one device. API threads push operations to its inbox without a lock; the thread
// sorts them to their streams and runs streams in turn, higher priorities first. A stream whose
// head waits (for an event, a value, the NULL stream's order) steps aside and holds nobody else up.

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cpu_driver/operation.hpp"

namespace flotilla::cpu_driver {

class device;
class stream;

class executor {
 public:
  explicit executor(device& home) noexcept : home_(home) {}
  ~executor() { stop(); }
  executor(executor const&) = delete;
  executor& operator=(executor const&) = delete;

  /// Starts the thread, once. Throws std::system_error.
  void start();
  /// Drops what is pending and ends the thread. Not from the thread itself, where it does nothing.
  void stop() noexcept;

  /// Any thread, lock-free unless the device sleeps.
  void push(operation* made) noexcept;
  /// Makes the thread look again at what its streams wait for.
  void nudge() noexcept;
  /// Keeps something alive until every operation pushed before has ended.
  void bury(std::shared_ptr<void const> dead);

 private:
  struct stream_list {  // linked through the streams
    stream* first = nullptr;
    stream* last = nullptr;
    void append(stream& added) noexcept;
    stream* take_first() noexcept;
  };
  static constexpr int priority_levels = 6;

  void run() noexcept;
  bool take_arrivals() noexcept;
  void arrive(operation& made) noexcept;
  bool run_one() noexcept;
  void run_head(stream& chosen) noexcept;
  bool may_start(stream& asked, operation& head) noexcept;
  bool recheck_waiting() noexcept;
  void complete_head(stream& of) noexcept;
  void close(stream& ended) noexcept;
  void drop_all() noexcept;
  void drop_queue(stream& of) noexcept;
  void recycle(operation& ended) noexcept;
  void publish_recycled() noexcept;
  void free_buried() noexcept;
  void idle() noexcept;
  bool spin() noexcept;
  void sleep() noexcept;
  [[nodiscard]] bool called() const noexcept;
  stream_list& level_of(stream const& of) noexcept;

  /// What the inbox's head is while the thread sleeps: whoever pushes onto it wakes the thread.
  operation* asleep() noexcept { return &asleep_; }

  device& home_;
  std::once_flag started_;
  std::thread thread_;
  operation asleep_;

  alignas(64) std::atomic<operation*> inbox_{nullptr};  // newest first; any thread
  alignas(64) std::atomic<bool> nudged_{false};         // set by any thread, cleared by ours
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<void const>> buried_;  // guarded by mutex_
  std::atomic<bool> any_buried_{false};

  // The thread's own:
  alignas(64) std::array<stream_list, priority_levels> ready_{};
  stream_list waiting_{};
  bool recheck_ = false;        // something happened that a waiting stream may wait for
  int waiting_for_values_ = 0;  // streams that only polling can free
  int since_poll_ = 0;          // operations run since values were last polled
  std::chrono::microseconds nap_{};
  operation* recycled_first_ = nullptr;
  operation* recycled_last_ = nullptr;
  int recycled_count_ = 0;
  std::vector<std::shared_ptr<void const>> dying_;
};

}  // namespace flotilla::cpu_driver
