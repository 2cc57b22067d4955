// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stream of one device with a counter of its completed batches.

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mapped_memory.hpp"
#include "context/context_handle.hpp"
#include "dispatch/lane/completion_page.hpp"
#include "dispatch/lane/launch_turn.hpp"
#include "dispatch/lane/registered_slabs.hpp"
#include "dispatch/lane/wait_events.hpp"
#include "dispatch/task/slot.hpp"

namespace flotilla::dispatch {

class graph_template;

/// A stream and the batches in flight on it. Threads: only the holder of the device's lease may
/// call functions that are not const, unless a function's comment says otherwise.
///
/// A batch begins with `begin`, which gives the batch a number. Then the caller puts the work of
/// the batch into the stream and commits the batch. `commit` is for work that writes the number
/// itself. `commit_with_write` makes the stream write the number after the work. With
/// `commit_with_event`, a thread that finds the event complete stores the number. Work that writes
/// several numbers counts as several batches, which are begun and committed together.
class lane {
 public:
  static constexpr std::uint32_t max_tasks = 512;                           // per batch
  static constexpr std::size_t max_batches = completion_page::max_batches;  // in flight
  static constexpr std::uint64_t no_number = ~std::uint64_t{0};

  struct batch {
    std::uint64_t number = 0;
    std::chrono::steady_clock::time_point begun;
    // The graph template that carries the batch, or null if there is none. If a template carries
    // several batches, the pointer is null in all of them except the last.
    graph_template* carrier = nullptr;
    // The records of the grid that carries the batch (see grid_launcher). Empty if there is none.
    registered_slabs::piece records{};
    // If not null, nothing in the stream writes the number: the batch ends with this event.
    CUevent end_event = nullptr;
    std::uint32_t count = 0;        // number of tasks
    bool waits_on_device = false;   // whether the batch begins with a spin kernel
    bool long_running = false;      // whether a kernel of the batch is long or was never measured
    bool has_status = false;        // whether the batch is one task whose kernel has a task_status
    bool is_chunk = false;          // whether the batch is one task, a chunk of a bulk
    bool exchanges = false;         // whether the batch is a part of a replay that has a group
    bool in_joint_run = false;      // whether the batch is a wave of a joint_run
    bool joined = false;            // whether the batch was launched together with the one before
    std::span<slot_address> tasks;  // the first `count` of them are valid
  };

  /// Makes a closed lane, which has no stream.
  /// @param waits  The events that are recorded before the stream waits for another lane.
  lane(context::context_handle const& context, completion_page& page, wait_events& waits,
       unsigned index);
  lane(lane const&) = delete;
  lane& operator=(lane const&) = delete;
  /// Creates the stream if the lane is closed. Call it with the context current.
  /// @param priority  A CUDA stream priority: a lower value is more urgent.
  [[nodiscard]] CUresult open(int priority);
  /// Destroys the stream. The driver must be usable.
  void destroy() noexcept;

  [[nodiscard]] CUstream stream() const noexcept { return stream_; }
  [[nodiscard]] unsigned index() const noexcept { return index_; }
  [[nodiscard]] CUdeviceptr counter() const noexcept { return page_.device_address(index_); }

  /// Returns whether `batches` more batches may begin. If the driver has refused to write a number,
  /// none may begin until `query` has found the stream empty: work that waits for a task of another
  /// lane, which waits for that number, would keep the stream from becoming empty.
  [[nodiscard]] bool has_room(std::size_t batches = 1) const noexcept {
    // relaxed: the holder of the lease has stored it, or another thread has raised the counter
    std::uint64_t const unwritten = unwritten_number_.load(std::memory_order_relaxed);
    bool const lacks_number = unwritten != 0 && page_.number(index_) < unwritten;
    return open_ + batches <= max_batches && !lacks_number && held_for.is_over();
  }
  [[nodiscard]] std::size_t in_flight() const noexcept { return open_; }
  /// Returns the batch in flight at `index`. The oldest has index 0.
  [[nodiscard]] batch const& in_flight(std::size_t index) const noexcept {
    return ring_[(first_ + index) % ring_.size()];
  }
  /// The number of the batch that was committed last.
  [[nodiscard]] std::uint64_t last_number() const noexcept { return last_number_; }

  /// Begins a batch and gives it a number. The lane must have room.
  [[nodiscard]] batch& begin();
  /// Notes that the batch runs beside the batch with the next number, because both are parts of one
  /// grid. Call it before the marks of its tasks are stored.
  void note_beside_next(batch const& of) noexcept {
    page_.set_beside_next(index_, of.number, true);
  }
  /// Drops the batches that were begun but not committed. Their work must not be in the stream.
  void cancel() noexcept;
  /// Commits the batches that were begun. The work of these batches must be in the stream and must
  /// write their numbers itself.
  void commit() noexcept;
  /// Commits the batches that were begun, and makes the stream write the last number after their
  /// work.
  /// @return the driver's status. If it is not CUDA_SUCCESS, `query` finds out when the work has
  /// ended.
  CUresult commit_with_write();
  /// Commits the batch that was begun. Its work ends with `event`, which the stream has recorded.
  /// The event must not be recorded again before the lane has reached the number of the batch.
  void commit_with_event(CUevent event) noexcept;

  /// Returns the oldest batch if it has ended, otherwise null. `drop` removes the oldest batch.
  /// Cost: two loads, and a driver call if the batch ends with an event.
  [[nodiscard]] batch* done() noexcept;
  void drop() noexcept;
  /// Forgets that the driver has refused to write numbers. The caller must ensure that no other
  /// thread is in `query`.
  void forget_unwritten() noexcept { unwritten_number_.store(0, std::memory_order_relaxed); }
  /// Raises the lane's counter to the number of the last batch, because the stream was emptied. No
  /// task may have a mark of this lane that was not reached.
  void settle() noexcept { page_.raise(index_, last_number_); }
  /// If the driver has refused to write a number, or may have lost the number `suspect` of the
  /// oldest batch, asks the stream whether its work has ended. If so, raises the lane's counter to
  /// this number. If a stream waits for another lane, wait_events tells what it has ended.
  /// Threads: any.
  /// @return whether the counter was raised
  bool query(std::uint64_t suspect = 0) noexcept;
  /// Returns the number of the oldest committed batch in flight, or `no_number`. The answer may be
  /// out of date. Threads: any.
  [[nodiscard]] std::uint64_t oldest_number() const noexcept {
    // Relaxed, because the caller only tells another thread to look.
    return oldest_number_.load(std::memory_order_relaxed);
  }
  /// The time at which a thread last noticed the end of a batch.
  [[nodiscard]] std::chrono::steady_clock::time_point last_end() const noexcept {
    return last_end_;
  }
  void set_last_end(std::chrono::steady_clock::time_point when) noexcept { last_end_ = when; }

  // No batch may begin before this turn is over.
  launch_turn held_for;
  // Whether the stream waits for another lane since the last batch was committed. If the batch
  // behind this wait was never launched, nothing but the stream knows of it.
  bool has_open_waits = false;

 private:
  void publish_oldest() noexcept {
    oldest_number_.store(open_ == begun_ ? no_number : ring_[first_].number,
                         std::memory_order_relaxed);
  }

  context::context_handle const& context_;
  completion_page& page_;
  wait_events& waits_;
  unsigned const index_;
  CUstream stream_ = nullptr;
  std::uint64_t last_number_;                            // the number of the last committed batch
  std::atomic<std::uint64_t> unwritten_number_{0};       // the last number whose write was refused
  std::atomic<std::uint64_t> oldest_number_{no_number};  // the oldest committed batch in flight
  std::size_t begun_ = 0;  // number of begun batches that are not committed yet
  std::size_t first_ = 0;  // index of the oldest batch in ring_
  std::size_t open_ = 0;   // number of batches in ring_, including uncommitted ones
  // `open` allocates the ring, because many lanes are never opened. The addresses of the tasks are
  // in memory of their own, which the system provides when batches use it: most lanes never have
  // many batches.
  std::vector<batch> ring_;
  base::mapped_memory addresses_;  // of `batch::tasks`
  std::chrono::steady_clock::time_point last_end_{};
};

}  // namespace flotilla::dispatch
