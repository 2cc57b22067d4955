// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The thread of one device. API threads push operations into its inbox. The device thread moves
// each operation to the queue of the operation's stream. Streams take turns, and one operation runs
// per turn. Streams with a higher priority come first. If the first operation of a stream has to
// wait, for example for an event, the other streams continue.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
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
  explicit device_thread(int device) : device_(device) {}
  ~device_thread() { stop(); }
  device_thread(device_thread const&) = delete;
  device_thread& operator=(device_thread const&) = delete;

  [[nodiscard]] int device() const noexcept { return device_; }  // ordinal of the device

  /// Starts the thread on the first call. Throws std::system_error.
  void start();
  /// Abandons all pending operations and ends the thread. Does nothing if it is called on the
  /// device thread.
  void stop() noexcept;

  // For any thread:
  void push(operation* added) noexcept { inbox_.push(added); }
  /// Makes the device thread check again which waiting streams can continue.
  void wake() noexcept override { inbox_.wake(); }
  /// Keeps `object` alive until all operations that were pushed before this call have ended. A
  /// later call of this function or of `destroy_released` destroys the object.
  void release_after_pending(deferred_release::entry object) noexcept;
  /// Destroys objects whose operations have ended.
  void destroy_released() noexcept;
  /// For tests: waits until the device has abandoned all operations that were pushed before this
  /// call. The device must have a fault.
  void wait_for_abandon() noexcept;

 private:
  static constexpr int priority_levels = 6;

  void run() noexcept;
  void take_arrivals() noexcept;
  void arrive(operation& added) noexcept;
  bool run_one() noexcept;
  /// Runs the first operation of the stream. @return whether the stream, which is in no list, has
  /// another operation, or must run this one again
  bool run_head(stream& chosen) noexcept;
  [[nodiscard]] bool may_start(stream& candidate, operation& head) noexcept;
  bool recheck_waiting() noexcept;
  void complete_head(stream& target) noexcept;
  void close(stream& ended) noexcept;
  void abandon_all() noexcept;
  void abandon_queue(stream& target) noexcept;
  void idle() noexcept;
  /// Waits for work without sleeping. @return false if there is none until `end`.
  bool spin(std::chrono::steady_clock::time_point end) noexcept;
  void sleep() noexcept;
  stream_list& level_of(stream const& target) noexcept;

  int const device_;
  std::once_flag started_;
  std::thread thread_;
  operation_inbox inbox_;
  std::atomic<bool> stopping_{false};
  deferred_release deferred_;
  std::atomic<std::uint64_t> asked_to_abandon_{0};  // number of calls of wait_for_abandon
  std::atomic<std::uint64_t> abandoned_{0};         // the last of them that has been answered

  // Used by the device thread only:
  alignas(64) std::array<stream_list, priority_levels> ready_{};
  stream_list waiting_{};
  bool recheck_ = false;          // whether a waiting stream may be able to continue
  int waiting_for_values_ = 0;    // number of streams whose wait must be polled
  int since_poll_ = 0;            // number of operations run since the last poll
  bool was_pause_short_ = false;  // whether the last call of idle() was shorter than a long spin
  std::chrono::microseconds poll_interval_{};  // time between two polls while the thread sleeps
  block_placement placement_;
  operation_recycler recycler_;
};

}  // namespace flotilla::cpu_driver
