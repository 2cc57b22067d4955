// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks that any device may take.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>

#include "base/cache_line.hpp"
#include "dispatch/queue/doorbell.hpp"
#include "dispatch/queue/inbox_registry.hpp"

namespace flotilla::dispatch {

/// Counts, for each priority level, the shared tasks and chunks that one device holds, and limits
/// their numbers. The limits balance devices of different speed. After each batch with shared
/// tasks, the limit of tasks doubles if the batch took less than 200 us, and halves if the batch
/// took more than 2 ms.
class alignas(base::cache_line) device_share {
 public:
  /// Returns how many more tasks of this level the device may take.
  [[nodiscard]] std::size_t room(priority_level level) const noexcept {
    std::uint32_t const held = held_[level].load(std::memory_order_relaxed);
    std::uint32_t const limit = limit_.load(std::memory_order_relaxed);
    return held < limit ? limit - held : 0;
  }
  /// Adds to the number of tasks that the device holds. A parked task is not counted, because its
  /// predecessor may need the room. Threads: any.
  void acquire(priority_level level, std::uint32_t tasks = 1) noexcept {
    held_[level].fetch_add(tasks, std::memory_order_relaxed);
  }
  void release(priority_level level, std::uint32_t tasks = 1) noexcept {
    held_[level].fetch_sub(tasks, std::memory_order_relaxed);
  }
  /// The same for one task, which may be a chunk of a bulk. Chunks have a limit of their own. It is
  /// low, so that devices of different speed take chunks one by one. It is high enough that the
  /// device has a next chunk when one ends.
  void acquire(slot const& task) noexcept {
    if (task.kind == task_kind::chunk) {
      chunks_[task.level].fetch_add(1, std::memory_order_relaxed);
    } else {
      acquire(task.level);
    }
  }
  void release(slot const& task) noexcept {
    if (task.kind == task_kind::chunk) {
      chunks_[task.level].fetch_sub(1, std::memory_order_relaxed);
    } else {
      release(task.level);
    }
  }
  /// Returns whether the device may take one more chunk of this level.
  [[nodiscard]] bool has_room_for_chunk(priority_level level) const noexcept {
    return chunks_[level].load(std::memory_order_relaxed) < max_chunks;
  }
  /// Adapts the limit after a batch with shared tasks. Threads: only the holder of the device's
  /// lease.
  /// @param took  How long that batch took.
  void adapt(std::chrono::steady_clock::duration took) noexcept;

 private:
  static constexpr std::uint32_t max_limit = 1024;  // 1024 empty kernels take 0.2 ms
  static constexpr std::uint32_t max_chunks = 3;
  std::array<std::atomic<std::uint32_t>, priority_levels> held_{};    // written by any thread
  std::array<std::atomic<std::uint32_t>, priority_levels> chunks_{};  // written by any thread
  std::atomic<std::uint32_t> limit_{4};  // written by the holder of the lease
};

/// The inboxes for tasks without a device, and the device_share of each device. `announce` and
/// `begin_pull` use the handshake that device_inbound describes
/// (tests/unit/dispatch/queue/shared_queue_model_test.cpp).
class shared_queue {
 public:
  shared_queue(unsigned devices, doorbell const& bell) : bell_(bell), shares_(devices) {}

  /// Announces a task. Call this after the push. Threads: any.
  void announce() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in begin_pull
    if (!pending_.load(std::memory_order_relaxed) &&
        !pending_.exchange(true, std::memory_order_seq_cst)) {
      bell_.ring();
    }
  }
  [[nodiscard]] bool is_pending() const noexcept {
    return pending_.load(std::memory_order_seq_cst);
  }
  /// Clears the announcement. Call this before the inboxes are read. Threads: the holder of any
  /// lease.
  void begin_pull() noexcept {
    pending_.store(false, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in announce
  }
  /// Announces the tasks that a pull has left in the inboxes, without asking for a worker.
  void set_pending() noexcept { pending_.store(true, std::memory_order_seq_cst); }

  [[nodiscard]] inbox_registry& inboxes() noexcept { return inboxes_; }
  [[nodiscard]] device_share& share(unsigned device) noexcept { return shares_[device]; }

 private:
  doorbell const& bell_;
  inbox_registry inboxes_;
  std::deque<device_share> shares_;
  // Set by submitters, and by a pull that left tasks. Cleared when a pull begins.
  alignas(base::cache_line) std::atomic<bool> pending_{false};
};

}  // namespace flotilla::dispatch
