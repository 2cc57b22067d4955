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

/// How many shared tasks one device holds, and how many it may hold. The limit keeps unequal
/// devices balanced: it doubles while batches with shared tasks end quickly, and halves when they
/// take long.
class alignas(base::cache_line) device_share {
 public:
  /// How many more tasks of that level the device may take.
  [[nodiscard]] std::size_t room(priority_level level) const noexcept {
    std::uint32_t const held = held_[level].load(std::memory_order_relaxed);
    std::uint32_t const limit = limit_.load(std::memory_order_relaxed);
    return held < limit ? limit - held : 0;
  }
  /// Threads: any. A parked task is not counted: its predecessor may still have to be taken.
  void acquire(priority_level level, std::uint32_t tasks = 1) noexcept {
    held_[level].fetch_add(tasks, std::memory_order_relaxed);
  }
  void release(priority_level level, std::uint32_t tasks = 1) noexcept {
    held_[level].fetch_sub(tasks, std::memory_order_relaxed);
  }
  /// Adapts the limit after a batch with shared tasks. @param took  The time of that batch.
  /// Threads: the holder of the lease.
  void adapt(std::chrono::steady_clock::duration took) noexcept;

 private:
  static constexpr std::uint32_t max_limit = 1024;                  // 0.2 ms of empty kernels
  std::array<std::atomic<std::uint32_t>, priority_levels> held_{};  // any thread
  std::atomic<std::uint32_t> limit_{4};                             // the holder of the lease
};

/// The inboxes for tasks without a device, and each device's share. The handshake between
/// `announce` and `begin_pull` is that of device_inbound
/// (tests/unit/dispatch/queue/shared_queue_model_test.cpp).
class shared_queue {
 public:
  shared_queue(unsigned devices, doorbell const& bell) : bell_(bell), shares_(devices) {}

  /// Announces a task. Call it after the push. Threads: any.
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
  /// Call it before the inboxes are read. Threads: the holder of any lease.
  void begin_pull() noexcept {
    pending_.store(false, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in announce
  }
  /// Call it after the inboxes were read, if some tasks were left.
  void set_pending() noexcept { pending_.store(true, std::memory_order_seq_cst); }

  [[nodiscard]] inbox_registry& inboxes() noexcept { return inboxes_; }
  [[nodiscard]] device_share& share(unsigned device) noexcept { return shares_[device]; }

 private:
  doorbell const& bell_;
  inbox_registry inboxes_;
  std::deque<device_share> shares_;
  // Submitters set it, a puller clears it.
  alignas(base::cache_line) std::atomic<bool> pending_{false};
};

}  // namespace flotilla::dispatch
