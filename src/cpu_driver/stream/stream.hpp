// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stream. API threads count the operations that they submit. The device thread owns the queue of
// operations.

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
  [[nodiscard]] context_resources& resources() const noexcept;  // resources of the group's context
  [[nodiscard]] stream_kind kind() const noexcept { return kind_; }
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }
  [[nodiscard]] int priority() const noexcept { return priority_; }  // 0 .. -5

  /// Appends an operation. Thread-safe, but the caller must keep the stream alive. Throws
  /// std::bad_alloc.
  template <class What>
  void enqueue(What&& what) {
    operation* const added = take_operation();
    added->what.template emplace<std::remove_cvref_t<What>>(std::forward<What>(what));
    push(added);
  }

  /// Appends an operation that the caller got from take_operation() and filled in. Delays the
  /// calling thread if too many operations of the stream are pending.
  void push(operation* added) noexcept;

  /// Whether all submitted operations have ended. If so, their effects are visible to the caller.
  [[nodiscard]] bool idle() const noexcept {
    // acquire: pairs with the release in device_thread::complete_head()
    return completed_.load(std::memory_order_acquire) == submitted_.load(std::memory_order_relaxed);
  }

  /// Waits until all operations that were submitted before this call have run or were abandoned.
  void synchronize(spin_times times);

  /// Submits the last operation, which ends the stream. For a stream with a handle, the handle
  /// table calls this function when no API thread can use the stream any more.
  void retire() noexcept;

  static constexpr int least_priority = 0;
  static constexpr int greatest_priority = -5;

 private:
  /// Pushes an operation and returns the number of operations that were submitted before it. Does
  /// not access the stream after the push, because the operation may end the stream.
  std::uint64_t append(operation* added) noexcept;
  void hold_back(std::uint64_t submitted) noexcept;

  friend class device_thread;
  friend class legacy_stream_order;
  friend class stream_list;

  CUstream const self_;  // null for the NULL stream of a group
  stream_group& group_;
  stream_kind const kind_;
  int const priority_;
  unsigned long long const id_;
  operation closing_;  // a member, so that retire() does not allocate and cannot fail

  alignas(64) std::atomic<std::uint64_t> submitted_{0};  // written by API threads

  alignas(64) std::atomic<std::uint64_t> completed_{0};  // written by the device thread
  // Used by the device thread only:
  operation* head_ = nullptr;
  operation* tail_ = nullptr;
  stream* next_in_list_ = nullptr;  // link in a stream_list
  bool member_ = false;             // whether the stream is in the list of legacy_stream_order
  stream* next_member_ = nullptr;   // link in the list of legacy_stream_order
};

/// An intrusive FIFO queue of streams. Only the device thread uses it.
class stream_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void append(stream& added) noexcept;
  /// Returns null if the queue is empty.
  [[nodiscard]] stream* take_first() noexcept;

 private:
  stream* first_ = nullptr;
  stream* last_ = nullptr;
};

}  // namespace flotilla::cpu_driver
