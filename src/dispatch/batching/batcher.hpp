#pragma once
// Decides which launches go out together, and on which lane.

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

/// The result of launching a batch. The batcher fills it in and starts or ends nothing itself; the
/// caller acts on it.
struct flush_outcome {
  struct refusal {
    slot_address task;
    driver::call_outcome why;
  };
  std::vector<refusal> refused;     // launches that the driver refuses
  std::vector<slot_address> alone;  // to be launched one by one, each for an answer of its own
  std::vector<slot_address> again;  // to be started again: a predecessor may have been refused
  std::vector<CUresult> errors;     // answers that belong to no task
  bool lost = false;  // the driver is poisoned: every open task has ended with the fault

  void clear() noexcept {
    refused.clear();
    alone.clear();
    again.clear();
    errors.clear();
    lost = false;
  }
};

/// Only the holder of the device's lease, with the context current.
class batcher {
 public:
  // Batches that one flush may begin: up to six templates, which write up to sixteen numbers in
  // all.
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

  /// Whether the launch belongs to the batch that is being filled: in a flood most do.
  [[nodiscard]] bool fits_open_batch(slot const& task) const noexcept {
    open_batch const& batch = batches_[filling_[task.level]];
    return task.kind == task_kind::launch && task.dependencies == 0 && task.batch &&
           batch.count != 0 && !batch.waits && !batch.traits.ordered &&
           task.kernel == batch.traits.kernel && parts_.lanes.has_room(task.level);
  }
  /// Whether the launch goes out without others.
  [[nodiscard]] bool goes_alone(slot const& task) const noexcept {
    return !task.batch || !parts_.launcher.usable();
  }

  /// What to do with a launch whose predecessors are known.
  struct step {
    enum class kinds {
      added,        // it is in an open batch
      full,         // the same, and the batch of `lane` is full: flush it
      flush_first,  // flush the batch of `lane`, then try again
      alone,        // launch it directly on `lane`, which waits for its predecessors
      no_room,      // no lane has room: try again in another pass
      refused,      // the driver refused the lane's waits
    } kind;
    unsigned lane = lane_layout::no_lane;
    driver::call_outcome why{};
  };
  /// Adds a launch that fits the batch that is being filled. @return whether that batch is full
  /// now; then flush it.
  [[nodiscard]] bool append(slot_address task, priority_level level) {
    return put(task, filling_[level]);
  }
  /// Adds a launch to the batch of `lane`, which holds its predecessor: order costs nothing there.
  /// @return flush_first if it cannot join; then look at its predecessors again.
  [[nodiscard]] step follow(slot_address task, unsigned lane);
  /// Adds any other launch.
  /// @param waits        What its lane has to wait for.
  /// @param device_wait  One of `waits` that its batch waits for on the device; or not valid.
  /// @param alone        Whether it goes out without others.
  [[nodiscard]] step add(slot_address task, std::span<end_mark const> waits, end_mark device_wait,
                         bool alone);
  /// Tasks that were parked on an added task and can follow it now. The caller takes them out.
  [[nodiscard]] std::vector<slot_address>& runnable() noexcept { return runnable_; }
  /// Sets how many tasks are at hand besides those in flight. A pass calls it when it begins.
  void set_waiting(std::size_t tasks) noexcept { waiting_ = tasks; }

  // ---- launching ----

  /// The lanes with an open batch, as a set.
  [[nodiscard]] std::uint64_t open_lanes() const noexcept { return open_; }
  /// The lane whose batch is being filled.
  [[nodiscard]] unsigned filling(priority_level level) const noexcept { return filling_[level]; }
  /// Open batches that will wait for another device.
  [[nodiscard]] std::uint32_t open_device_waits() const noexcept { return open_device_waits_; }
  /// Launches the batch of `lane`.
  void flush(unsigned lane, flush_outcome& outcome);
  /// Launches one task on a lane that waits for its predecessors already.
  void launch_alone(slot_address task, unsigned lane, flush_outcome& outcome);

  // ---- measuring ----

  [[nodiscard]] kernel_profile& profile_of(std::uint32_t kernel);
  /// Takes the sample of a measured batch that has ended or is overdue.
  void sample_kernel_time();
  /// The number of graphs and single launches so far. Threads: any.
  [[nodiscard]] std::uint64_t launched() const noexcept {
    return launched_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] std::size_t at_hand() const noexcept {
    return parts_.lanes.launches_in_flight() + waiting_;
  }
  /// @return whether the batch is full now.
  bool put(slot_address task, unsigned lane);
  [[nodiscard]] step added(slot_address task, unsigned lane) {
    return {put(task, lane) ? step::kinds::full : step::kinds::added, lane};
  }
  /// A lane of this device in which one of these tasks is in flight, for launches of that level.
  [[nodiscard]] unsigned lane_of_predecessor(std::span<end_mark const> waits,
                                             priority_level level) const noexcept;
  /// Launches the first of `tasks` as one graph. @return how many; sets `refused` if one got an
  /// error.
  std::size_t launch_first(lane& lane, std::span<slot_address const> tasks,
                           batch_traits const& traits, flush_outcome& outcome, bool& refused);
  /// Launches prepared_, and measures it if its kernel is due.
  [[nodiscard]] CUresult launch_prepared(lane& lane, batch_traits const& traits);
  /// The batch is in the stream: counts it and lets successors go on.
  void commit(lane const& lane, lane::batch const& batch);

  parts const parts_;
  bool const runs_in_turn_;  // a CPU device runs one kernel at a time
  std::array<open_batch, lane_layout::all_lanes> batches_;
  std::uint64_t open_ = 0;  // set of lanes whose batch is not empty
  std::array<unsigned, priority_levels> filling_;
  std::uint32_t open_device_waits_ = 0;
  std::size_t waiting_ = 0;
  std::vector<slot_address> runnable_;
  std::vector<kernel_profile> profiles_;  // by kernel
  kernel_timer timer_;
  prepared_batch prepared_;
  std::atomic<std::uint64_t> launched_{0};  // the holder of the lease
};

}  // namespace flotilla::dispatch
