#pragma once
// The thread of one device. It sorts the operations that API threads push to their streams, and
// runs streams in turn, higher priorities first. A stream whose head has to wait (for an event, a
// value, the NULL stream's order) steps aside and does not hold up the others.

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "cpu_driver/base/wake_all.hpp"
#include "cpu_driver/properties/multiprocessors.hpp"
#include "cpu_driver/stream/deferred_release.hpp"
#include "cpu_driver/stream/operation.hpp"
#include "cpu_driver/stream/operation_inbox.hpp"
#include "cpu_driver/stream/operation_pool.hpp"
#include "cpu_driver/stream/stream.hpp"

namespace flotilla::cpu_driver {

class device_thread final : public wakeable {
 public:
  explicit device_thread(int device) noexcept : device_(device) {}
  ~device_thread() { stop(); }
  device_thread(device_thread const&) = delete;
  device_thread& operator=(device_thread const&) = delete;

  [[nodiscard]] int device() const noexcept { return device_; }  // ordinal

  /// Starts the thread, once. Throws std::system_error.
  void start();
  /// Abandons everything pending and ends the thread. Does nothing on the thread itself.
  void stop() noexcept;

  // Any thread:
  void push(operation* added) noexcept { inbox_.push(added); }
  /// Makes the thread check again what its streams wait for.
  void wake() noexcept override { inbox_.wake(); }
  /// Keeps `object` alive until every operation pushed before has ended. Throws std::bad_alloc.
  void release_after_pending(std::shared_ptr<void const> object);

 private:
  static constexpr int priority_levels = 6;

  void run() noexcept;
  void take_arrivals() noexcept;
  void arrive(operation& added) noexcept;
  bool run_one() noexcept;
  void run_head(stream& chosen) noexcept;
  [[nodiscard]] bool may_start(stream& candidate, operation& head) noexcept;
  bool recheck_waiting() noexcept;
  void complete_head(stream& target) noexcept;
  void close(stream& ended) noexcept;
  void abandon_all() noexcept;
  void abandon_queue(stream& target) noexcept;
  void idle() noexcept;
  bool spin() noexcept;
  void sleep() noexcept;
  stream_list& level_of(stream const& target) noexcept;

  int const device_;
  std::once_flag started_;
  std::thread thread_;
  operation_inbox inbox_;
  std::atomic<bool> stopping_{false};
  deferred_release deferred_;

  // The thread's own:
  alignas(64) std::array<stream_list, priority_levels> ready_{};
  stream_list waiting_{};
  bool recheck_ = false;        // something happened that a waiting stream may wait for
  int waiting_for_values_ = 0;  // streams that only polling can free
  int since_poll_ = 0;          // operations run since values were last polled
  std::chrono::microseconds poll_interval_{};  // while asleep
  block_placement placement_;
  operation_recycler recycler_;
};

}  // namespace flotilla::cpu_driver
