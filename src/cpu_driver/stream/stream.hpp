#pragma once
// A stream as both sides see it: API threads count what they submit, the device thread keeps the
// queue.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "cpu_driver/base/handle_table.hpp"
#include "cpu_driver/stream/operation.hpp"
#include "cpu_driver/stream/operation_pool.hpp"

namespace flotilla::cpu_driver {

struct context_resources;
class stream_group;

enum class stream_kind : std::uint8_t { legacy, blocking, non_blocking };

class stream {
 public:
  using handles = handle_table<stream, CUstream, handle_kind::stream>;
  using ref = handles::ref;
  [[nodiscard]] static handles& table() { return handles::of_process(); }

  stream(CUstream self, stream_group& group, stream_kind kind, int priority) noexcept;

  [[nodiscard]] CUstream self() const noexcept { return self_; }
  [[nodiscard]] stream_group& group() const noexcept { return group_; }
  [[nodiscard]] context_resources& resources() const noexcept;  // of the group's context
  [[nodiscard]] stream_kind kind() const noexcept { return kind_; }
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }
  [[nodiscard]] int priority() const noexcept { return priority_; }  // 0 .. -5

  /// Appends an operation. Any thread that keeps the stream alive. Throws std::bad_alloc.
  template <class What>
  void enqueue(What&& what) {
    operation* const added = take_operation();
    added->what.template emplace<std::remove_cvref_t<What>>(std::forward<What>(what));
    push(added);
  }

  /// The same for an operation that the caller has filled in where it is stored: launches are
  /// large. Slows down a thread that is far ahead of the device.
  void push(operation* added) noexcept;

  /// Whether everything submitted has run. If so, its effects are visible to the caller.
  [[nodiscard]] bool idle() const noexcept {
    // acquire: pairs with the release in device_thread::complete_head()
    return completed_.load(std::memory_order_acquire) == submitted_.load(std::memory_order_relaxed);
  }

  /// Waits until everything submitted before has run or was abandoned.
  void synchronize(spin_times times);

  /// The handle table calls it when no API thread can reach the stream any more.
  void retire() noexcept;

  static constexpr int least_priority = 0;
  static constexpr int greatest_priority = -5;

 private:
  /// Returns how many operations were submitted before. Uses nothing of the stream after the
  /// device thread can see the operation.
  std::uint64_t append(operation* added) noexcept;
  void hold_back(std::uint64_t submitted) noexcept;

  friend class device_thread;
  friend class legacy_stream_order;
  friend class stream_list;

  CUstream const self_;  // null for the legacy stream, which belongs to its group
  stream_group& group_;
  stream_kind const kind_;
  int const priority_;
  unsigned long long const id_;
  operation closing_;  // made early: ending a stream must not fail for lack of memory

  alignas(64) std::atomic<std::uint64_t> submitted_{0};  // written by API threads

  alignas(64) std::atomic<std::uint64_t> completed_{0};  // written by the device thread
  // The device thread's own:
  operation* head_ = nullptr;
  operation* tail_ = nullptr;
  stream* next_in_list_ = nullptr;  // of the stream_list that it is in
  bool member_ = false;             // of its group's order, which links it through:
  stream* next_member_ = nullptr;
};

/// A queue of streams, linked through the streams. Belongs to the device thread.
class stream_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void append(stream& added) noexcept;
  /// Null if empty.
  [[nodiscard]] stream* take_first() noexcept;

 private:
  stream* first_ = nullptr;
  stream* last_ = nullptr;
};

}  // namespace flotilla::cpu_driver
