// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides which launches form a batch, and which lane the batch uses.

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/batching/kernel_profile.hpp"
#include "dispatch/batching/kernel_timer.hpp"
#include "dispatch/batching/open_batch.hpp"
#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/ordering/dependencies.hpp"
#include "driver/call_outcome.hpp"

namespace flotilla::dispatch {

/// The result of a flush. The caller must end, launch or restart the tasks in it.
struct flush_outcome {
  struct refusal {
    slot_address task;
    driver::call_outcome why;
  };
  std::vector<refusal> refused;  // launches that the driver refused
  // Tasks to launch one by one, so that each task gets its own status.
  std::vector<slot_address> alone;
  // Tasks to start again: a predecessor may have been refused, or the lane had no room.
  std::vector<slot_address> again;
  std::vector<CUresult> errors;  // driver errors that belong to no single task
  // Whether a launch got a sticky error. The driver is unusable then, and every open task counts as
  // ended.
  bool lost = false;

  void clear() noexcept {
    refused.clear();
    alone.clear();
    again.clear();
    errors.clear();
    lost = false;
  }
};

/// Collects launches in open batches and launches the batches. Threads: only the holder of the
/// device's lease, with the context current.
class batcher {
 public:
  // The maximum number of batches that one flush begins. A flush launches at most six templates,
  // which write at most 22 completion numbers in total.
  static constexpr std::size_t max_batches_of_flush = 22;

  struct parts {
    context::context_handle const& context;
    task_table const& tasks;
    kernel_table const& kernels;
    dependencies& order;
    lane_set& lanes;
    completion_page const& page;
    batch_launcher& launcher;
  };
  explicit batcher(parts const& with);
  void destroy() noexcept { timer_.destroy(); }

  // ---- collecting ----

  /// Returns whether `append` may add the task to the batch that is being filled for the task's
  /// level. In a burst of launches of one kernel this is the usual case.
  [[nodiscard]] bool fits_open_batch(slot const& task) const noexcept {
    open_batch const& batch = batches_[filling_[task.level]];
    return task.kind == task_kind::launch && task.dependencies == 0 && task.batch &&
           batch.count != 0 && !batch.waits && !batch.traits.ordered &&
           task.kernel == batch.traits.kernel && parts_.lanes.has_room(task.level);
  }
  /// Returns whether the launch must not share a batch with other tasks.
  [[nodiscard]] bool goes_alone(slot const& task) const noexcept {
    return !task.batch || !parts_.launcher.usable();
  }

  /// Tells the caller of `add` or `follow` what to do next.
  struct step {
    enum class kinds {
      added,        // the launch is in the open batch of `lane`
      full,         // like `added`, but the batch is full: flush it
      flush_first,  // flush the batch of `lane`, then add the launch again
      // call launch_alone for `lane`, whose stream already waits for the predecessors
      alone,
      no_room,  // no lane has room: try again in the next pass
      refused,  // the driver refused a wait in the lane's stream
    } kind;
    unsigned lane = lane_layout::no_lane;
    driver::call_outcome why{};
  };
  /// Adds a launch for which `fits_open_batch` is true. Returns whether the batch is full now; in
  /// that case the caller must flush it.
  [[nodiscard]] bool append(slot_address task, priority_level level) {
    return put(task, filling_[level]);
  }
  /// Adds a launch to the open batch of `lane`. This batch must hold the launch's predecessor. The
  /// tasks of the batch then form one chain, so the launch needs no wait.
  /// @return flush_first if the launch cannot join. After the flush the caller must look up the
  /// state of the launch's predecessors again.
  [[nodiscard]] step follow(slot_address task, unsigned lane);
  /// Adds a launch to which neither `append` nor `follow` applies.
  /// @param waits        The predecessors for which the lane must wait.
  /// @param device_wait  The entry of `waits` for which a spin kernel in the batch waits, instead
  /// of the stream. Not valid if there is none.
  /// @param alone        Whether the launch must not share a batch with other tasks.
  [[nodiscard]] step add(slot_address task, std::span<end_mark const> waits, end_mark device_wait,
                         bool alone);
  /// Returns the tasks that were parked on a task of an open batch and can now join that batch. The
  /// caller removes them from the vector and starts them.
  [[nodiscard]] std::vector<slot_address>& runnable() noexcept { return runnable_; }
  /// Sets how many tasks wait to be launched. Call it in each pass, before the pass takes new
  /// tasks.
  void set_waiting(std::size_t tasks) noexcept { waiting_ = tasks; }

  // ---- launching ----

  /// The set of lanes that have an open batch.
  [[nodiscard]] std::uint64_t open_lanes() const noexcept { return open_; }
  /// Returns the lane whose batch is being filled with launches of `level`.
  [[nodiscard]] unsigned filling(priority_level level) const noexcept { return filling_[level]; }
  /// The number of open batches that begin with a wait for another device.
  [[nodiscard]] std::uint32_t open_device_waits() const noexcept { return open_device_waits_; }
  /// Launches the batch of `lane`.
  void flush(unsigned lane, flush_outcome& outcome);
  /// Launches one task without a graph. The lane's stream must already wait for the task's
  /// predecessors.
  void launch_alone(slot_address task, unsigned lane, flush_outcome& outcome);

  // ---- measuring ----

  [[nodiscard]] kernel_profile& profile_of(std::uint32_t kernel);
  /// If the measured batch has ended or is overdue, adds the measurement to the kernel's profile.
  void sample_kernel_time();
  /// The number of graph launches and single launches so far. Threads: any.
  [[nodiscard]] std::uint64_t launched() const noexcept {
    return launched_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] std::size_t at_hand() const noexcept {
    return parts_.lanes.launches_in_flight() + waiting_;
  }
  /// Adds the task to the lane's batch. Returns whether the batch is full now.
  bool put(slot_address task, unsigned lane);
  [[nodiscard]] step added(slot_address task, unsigned lane) {
    return {put(task, lane) ? step::kinds::full : step::kinds::added, lane};
  }
  /// Returns the launch lane in which one of `waits` is in flight on this device at this level.
  /// Returns no_lane if there is none.
  [[nodiscard]] unsigned lane_of_predecessor(std::span<end_mark const> waits,
                                             priority_level level) const noexcept;
  /// Launches the first tasks of `tasks` as one graph. Returns how many tasks it took from the
  /// front of `tasks`, and sets `refused` if the driver returned an error.
  std::size_t launch_first(lane& lane, std::span<slot_address const> tasks,
                           batch_traits const& traits, flush_outcome& outcome, bool& refused);
  /// Launches `prepared_`. Measures the batch if its kernel is due for a measurement.
  [[nodiscard]] CUresult launch_prepared(lane& lane, batch_traits const& traits);
  /// Records that the batch is in the stream: counts it, and releases the tasks that are parked on
  /// its tasks.
  void commit(lane const& lane, lane::batch const& batch);

  parts const parts_;
  bool const runs_in_turn_;  // a CPU device runs one kernel at a time
  std::array<open_batch, lane_layout::all_lanes> batches_;
  std::uint64_t open_ = 0;  // the set of lanes whose batch is not empty
  std::array<unsigned, priority_levels> filling_;
  std::uint32_t open_device_waits_ = 0;
  std::size_t waiting_ = 0;
  std::vector<slot_address> runnable_;
  std::vector<kernel_profile> profiles_;  // by kernel index
  kernel_timer timer_;
  prepared_batch prepared_;
  std::atomic<std::uint64_t> launched_{0};  // written by the holder of the lease
};

}  // namespace flotilla::dispatch
