#pragma once
// A stream as both sides see it: API threads count what they submit, the device thread keeps the
// queue.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "cpu_driver/operation.hpp"
#include "cpu_driver/operation_pool.hpp"

namespace flotilla::cpu_driver {

class context;
class stream_group;

enum class stream_kind : std::uint8_t { legacy, blocking, non_blocking };

class stream {
 public:
  stream(CUstream self, stream_group& group, stream_kind kind, int priority) noexcept;

  [[nodiscard]] CUstream self() const noexcept { return self_; }
  [[nodiscard]] stream_group& group() const noexcept { return group_; }
  [[nodiscard]] context& owner() const noexcept;  // the group's
  [[nodiscard]] stream_kind kind() const noexcept { return kind_; }
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }
  [[nodiscard]] int priority() const noexcept { return priority_; }  // 0 .. -5

  /// Appends an operation. Any thread that keeps the stream alive. Throws std::bad_alloc.
  template <class What>
  void enqueue(What&& what) {
    operation* const made = take_operation();
    made->what.template emplace<std::remove_cvref_t<What>>(std::forward<What>(what));
    push(made);
  }

  /// The same, filled in where it stands: for launches, which are large. A thread that is far ahead
  /// of the device is held back a little.
  void push(operation* made) noexcept;

  /// Whether all that was submitted has run. What it did is then visible to the caller.
  [[nodiscard]] bool idle() const noexcept {
    // acquire: pairs with the release in the executor's completion
    return completed_.load(std::memory_order_acquire) == submitted_.load(std::memory_order_relaxed);
  }

  /// Waits until all that was submitted before has run or was dropped.
  void synchronize(wait_policy policy);

  /// Called by the handle table when no API thread can reach the stream any more.
  void retire() noexcept;

  static constexpr int least_priority = 0;
  static constexpr int greatest_priority = -5;

 private:
  void hold_back(std::uint64_t submitted) noexcept;

  friend class executor;
  friend class order_group;

  CUstream const self_;  // null for the legacy stream, which belongs to its group
  stream_group& group_;
  stream_kind const kind_;
  int const priority_;
  unsigned long long const id_;
  operation closing_;  // made early: the end of a stream must not fail for want of memory

  alignas(64) std::atomic<std::uint64_t> submitted_{0};  // written by API threads

  alignas(64) std::atomic<std::uint64_t> completed_{0};  // written by the device thread
  // The device thread's own:
  operation* head_ = nullptr;
  operation* tail_ = nullptr;
  stream* next_ready_ = nullptr;
  bool member_ = false;  // of its group's order, linked by
  stream* next_member_ = nullptr;
};

}  // namespace flotilla::cpu_driver
