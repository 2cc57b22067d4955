// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What threads of the host do for tasks at this moment.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>

#include "base/cache_line.hpp"
#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

/// On a poisoned runtime, all open tasks count as ended. But a callable that has begun goes on, and
/// so does the step of a copy of pageable memory, and both use what the program destroys after the
/// task. So such tasks have not ended yet. Whoever begins such work looks at the poison afterwards.
/// Then either that thread sees the poison, or a thread that waits sees the work. Threads: any.
class host_work {
 public:
  explicit host_work(std::size_t devices) : callables_(devices) {}

  /// A device runs one callable at a time. Threads: only the holder of the device's lease.
  void begin_callable(unsigned device, slot_address task) noexcept {
    callables_[device].task.store(task, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fences below
  }
  void end_callable(unsigned device) noexcept {
    callables_[device].task.store(no_slot, std::memory_order_release);
  }

  /// While it exists, a thread copies memory of the program. It waits for nothing meanwhile.
  class copying {
   public:
    explicit copying(host_work& of) noexcept : of_(of) {
      of_.copying_.fetch_add(1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fences below
    }
    ~copying() { of_.copying_.fetch_sub(1, std::memory_order_release); }
    copying(copying const&) = delete;
    copying& operator=(copying const&) = delete;

   private:
    host_work& of_;
  };

  /// Returns whether memory of the program that belongs to this task may be in use. Call it after
  /// the look at the poison.
  [[nodiscard]] bool uses(slot_address task) const noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return copies() || std::any_of(callables_.begin(), callables_.end(), [task](one const& each) {
             return each.task.load(std::memory_order_acquire) == task;
           });
  }
  /// The same for all tasks.
  [[nodiscard]] bool any() const noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return copies() || std::any_of(callables_.begin(), callables_.end(), [](one const& each) {
             return each.task.load(std::memory_order_acquire) != no_slot;
           });
  }

 private:
  [[nodiscard]] bool copies() const noexcept {
    return copying_.load(std::memory_order_acquire) != 0;
  }
  struct alignas(base::cache_line) one {
    std::atomic<slot_address> task{no_slot};
  };

  std::deque<one> callables_;  // by device index
  std::atomic<int> copying_{0};
};

}  // namespace flotilla::dispatch
