// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Estimates how long a kernel takes on a device.

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "dispatch/batching/batch_shape.hpp"
#include "dispatch/batching/order_choice.hpp"

namespace flotilla::dispatch {

/// Estimates how long one kernel takes on one device, from measurements of batches (see
/// kernel_timer). Threads: only the holder of the device's lease.
class kernel_profile {
 public:
  // Time that a batch takes in addition to its kernels. The caller of `note` subtracts these costs
  // from the measured time. Each completion node except the last costs completion_node_cost.
  static constexpr std::chrono::nanoseconds completion_node_cost{1500};
  static constexpr std::chrono::nanoseconds entry_node_cost{1000};

  /// Makes the profile constant, for a kernel whose launches take very different times. It is never
  /// measured.
  void fix(float kernel_ns, batch_shape const& shape) noexcept {
    set(kernel_ns);
    shape_ = shape;
    is_fixed_ = true;
  }

  /// Adds the measurement of a batch.
  /// @param took  measured time of the batch, minus the costs above
  /// @param depth  number of tasks that ran one after another
  /// @param chains  number of chains that ran in parallel on the device
  void note(std::chrono::nanoseconds took, std::uint32_t depth, std::uint32_t chains) noexcept {
    float const sample = std::max(static_cast<float>(took.count()) - batch_overhead_ns, 1.0F) /
                         static_cast<float>(std::max(depth, 1u));
    bool const known = kernel_ns_ != 0;
    // If the chains had to wait for the GPU's front end, the sample includes this wait, and the
    // kernel may take much less time than the sample. Such a sample is *vague*: it counts only if
    // it is below the estimate.
    float const front_end_ns =
        static_cast<float>(chains) * (shape_.chains <= 2 ? node_cost_ns : node_cost_of_many_ns);
    bool const is_vague = front_end_ns > 0.8F * sample;
    if (known && is_vague && sample >= kernel_ns_) { return note_vague(); }
    // Use the shorter of the last two samples, because one of the two batches may have waited for
    // other work on the device.
    float const estimate = known ? std::min(sample, last_sample_ns_) : sample;
    auto const floored = [](float length) { return std::max(length, empty_kernel_ns); };
    bool const changed = known && (floored(sample) > 1.5F * floored(kernel_ns_) ||
                                   floored(sample) < floored(kernel_ns_) / 1.5F);
    set(estimate);
    last_sample_ns_ = sample;
    measure_again_in(changed ? 1 : 2 * interval_);
  }

  /// Counts the measurement of an ordered grid, whose tasks wait for each other. So it says nothing
  /// about the duration of the kernel.
  void note_ordered() noexcept { measure_again_in(2 * interval_); }

  /// Adds the measurement of a batch that is still running. If the batch is far overdue, its kernel
  /// now takes longer than before. Then the estimate rises, and later batches have shorter chains.
  /// @param since  time since the launch of the batch
  /// @param depth  number of tasks in the batch that run one after another
  /// @param ahead  number of batches that were ahead of this batch in its lane at the launch
  void note_open(std::chrono::nanoseconds since, std::uint32_t depth, std::size_t ahead) noexcept {
    constexpr float overdue = 10;  // multiple of the expected time
    auto const elapsed_ns = static_cast<float>(since.count());
    float const expected_ns =
        batch_overhead_ns + std::max(kernel_ns_, min_expected_ns) * static_cast<float>(depth);
    auto const batches = static_cast<float>(ahead + 1);
    if (kernel_ns_ == 0 || elapsed_ns < overdue * batches * expected_ns) { return; }
    set(elapsed_ns / (static_cast<float>(std::max(depth, 1u)) * batches));
    measure_again_in(1);
  }

  /// Records that tasks of this kernel do not follow each other one by one: two tasks follow one
  /// task, or a step has several tasks. The next tasks do not extend chains, because other tasks
  /// would wait for such a chain.
  void note_fork() noexcept { links_until_chain_ = links_after_fork; }
  /// Records that a task could extend the chain of its predecessor. Returns whether it should:
  /// after a fork, other forks are likely.
  [[nodiscard]] bool note_link() noexcept {
    if (links_until_chain_ == 0) { return true; }
    --links_until_chain_;
    return false;
  }

  /// Stores the launch lane whose open batch got a launch of this kernel last.
  void note_lane(unsigned lane) noexcept { lane_ = lane; }
  [[nodiscard]] unsigned lane() const noexcept { return lane_; }

  /// Counts a batch of `tasks` tasks. Returns whether to measure the batch. A measurement costs the
  /// host about 7 us. That is little for a batch of many tasks, but much for a single task that a
  /// thread waits for. So the interval between two measurements is counted in tasks, not in
  /// batches.
  [[nodiscard]] bool count_batch(std::uint32_t tasks) noexcept {
    if (is_fixed_) { return false; }
    if (order_.take_wish_for_sample()) { return true; }
    std::uint32_t const counted = std::clamp(tasks, 1u, max_counted_tasks);
    if (until_measured_ <= counted) { return true; }
    until_measured_ -= counted;
    return false;
  }

  /// How several waves of this kernel are launched.
  [[nodiscard]] order_choice& order() noexcept { return order_; }
  /// The shape of batches of this kernel. Until the kernel is measured, each launch is a batch of
  /// its own.
  [[nodiscard]] batch_shape const& shape() const noexcept { return shape_; }
  /// The estimate in nanoseconds; 0 if the kernel was never measured.
  [[nodiscard]] float kernel_ns() const noexcept { return kernel_ns_; }
  /// Returns whether the kernel is long or was never measured. Short tasks should not have to wait
  /// for such a kernel.
  [[nodiscard]] bool long_running() const noexcept {
    return kernel_ns_ == 0 || kernel_ns_ >= long_running_kernel_ns;
  }

 private:
  static constexpr float min_expected_ns = 1300;
  static constexpr float empty_kernel_ns = 1000;  // shorter kernels get the same batch shape
  static constexpr std::uint32_t max_vague_samples = 1 << 20;
  // Measured on an H200. The first value is the fixed overhead of a batch. The other two are the
  // time that the GPU's front end needs for one node.
  static constexpr float batch_overhead_ns = 4000;
  static constexpr float node_cost_ns = 200;
  static constexpr float node_cost_of_many_ns = 380;      // in batches of more than two chains
  static constexpr std::uint32_t max_counted_tasks = 16;  // per batch
  static constexpr std::uint32_t max_interval = 256;      // counted tasks
  static constexpr std::uint32_t links_after_fork = 256;

  /// Counts a vague sample. In batches with many chains, a short kernel appears long, so its
  /// batches would keep many chains forever. To prevent this, the profile sometimes tries the
  /// estimate of an empty kernel, whose batches have fewer chains. If the kernel does need many
  /// chains, such a trial costs time. So each trial needs twice as many vague samples as the
  /// previous trial.
  void note_vague() noexcept {
    bool const may_be_short =
        shape_.lanes > lanes_of_short_kernels && kernel_ns_ <= long_running_kernel_ns;
    if (!may_be_short || ++vague_samples_ < vague_limit_) {
      return measure_again_in(2 * interval_);
    }
    vague_samples_ = 0;
    vague_limit_ = std::min(2 * vague_limit_, max_vague_samples);
    set(empty_kernel_ns);
    measure_again_in(1);
  }
  void set(float kernel_ns) noexcept {
    kernel_ns_ = last_sample_ns_ = kernel_ns;
    shape_ = shape_for(kernel_ns);
  }
  void measure_again_in(std::uint32_t tasks) noexcept {
    until_measured_ = interval_ = std::min(tasks, max_interval);
  }

  float kernel_ns_ = 0;
  float last_sample_ns_ = 0;
  bool is_fixed_ = false;
  std::uint32_t vague_samples_ = 0;  // number since the last trial (see note_vague)
  std::uint32_t vague_limit_ = 8;
  std::uint32_t interval_ = 1;  // in counted tasks
  std::uint32_t until_measured_ = 1;
  std::uint32_t links_until_chain_ = 0;
  unsigned lane_ = 0;
  order_choice order_;
  batch_shape shape_;
};

}  // namespace flotilla::dispatch
