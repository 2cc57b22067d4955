#pragma once
// How long a kernel takes on a device.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "dispatch/batching/batch_shape.hpp"

namespace flotilla::dispatch {

/// How long one kernel takes on one device, from measurements of its batches there (see
/// kernel_timer). Only the holder of the device's lease.
class kernel_profile {
 public:
  // What a batch takes besides its kernels; subtract it from a measured time:
  static constexpr std::chrono::nanoseconds completion_node_cost{1500};  // each but the last one
  static constexpr std::chrono::nanoseconds device_update_cost{3000};
  static constexpr std::chrono::nanoseconds entry_node_cost{1000};

  /// A batch was measured.
  /// @param depth   how many tasks ran one after another
  /// @param chains  how many chains were on the device side by side
  void note(std::chrono::nanoseconds took, std::uint32_t depth, std::uint32_t chains) noexcept {
    float const sample = std::max(static_cast<float>(took.count()) - batch_overhead_ns, 1.0F) /
                         static_cast<float>(std::max(depth, 1u));
    bool const known = kernel_ns_ != 0;
    // If the chains waited for the GPU's front end, their kernels may have any length up to that
    // wait. Then only a shorter time tells something.
    float const front_end_ns =
        static_cast<float>(chains) * (shape_.chains <= 2 ? node_cost_ns : node_cost_of_many_ns);
    bool const is_vague = front_end_ns > 0.8F * sample;
    if (known && is_vague && sample >= kernel_ns_) { return note_vague(); }
    // The shorter of two samples, because a batch may have waited for something else on the device.
    float const estimate = known ? std::min(sample, last_sample_ns_) : sample;
    auto const floored = [](float length) { return std::max(length, empty_kernel_ns); };
    bool const changed = known && (floored(sample) > 1.5F * floored(kernel_ns_) ||
                                   floored(sample) < floored(kernel_ns_) / 1.5F);
    set(estimate);
    last_sample_ns_ = sample;
    measure_again_in(changed ? 1 : 2 * interval_);
  }

  /// A measured batch is still running. If that takes far longer than expected, its kernel has
  /// become longer, and the next tasks must not go into batches as deep.
  /// @param since  the time since its launch
  /// @param ahead  how many batches were in its lane before it
  void note_open(std::chrono::nanoseconds since, std::uint32_t depth, std::size_t ahead) noexcept {
    constexpr float overdue = 10;  // times what was expected
    auto const elapsed_ns = static_cast<float>(since.count());
    float const expected_ns =
        batch_overhead_ns + std::max(kernel_ns_, min_expected_ns) * static_cast<float>(depth);
    auto const batches = static_cast<float>(ahead + 1);
    if (kernel_ns_ == 0 || elapsed_ns < overdue * batches * expected_ns) { return; }
    set(elapsed_ns / (static_cast<float>(std::max(depth, 1u)) * batches));
    measure_again_in(1);
  }

  /// Records whether a batch that the device might have updated was updated by it or rewritten by
  /// the host. After the first update, updates are assumed until 64 batches in a row were
  /// rewritten. While there are too few templates, some batches are rewritten, and with more
  /// batches in flight even more templates would be needed.
  void note_filled(bool by_device) noexcept {
    rewritten_ = by_device ? 0 : rewritten_ + 1;
    bool const now = by_device || (device_updated_ && rewritten_ < max_rewritten);
    if (std::exchange(device_updated_, now) != now && kernel_ns_ != 0) {
      shape_ = shape_for(kernel_ns_, now);
    }
  }

  /// Counts a batch of so many tasks. @return whether to measure it. Measuring costs the host some
  /// 7 us: little for a batch of many tasks, much for a single task that a thread waits for.
  [[nodiscard]] bool count_batch(std::uint32_t tasks) noexcept {
    std::uint32_t const counted = std::clamp(tasks, 1u, max_counted_tasks);
    if (until_measured_ <= counted) { return true; }
    until_measured_ -= counted;
    return false;
  }

  /// Launches of a kernel that nobody has measured go out alone.
  [[nodiscard]] batch_shape const& shape() const noexcept { return shape_; }
  /// Nanoseconds; 0: never measured.
  [[nodiscard]] float kernel_ns() const noexcept { return kernel_ns_; }
  /// Whether the kernel may run long. Short tasks should not have to wait for it.
  [[nodiscard]] bool long_running() const noexcept {
    return kernel_ns_ == 0 || kernel_ns_ >= long_running_kernel_ns;
  }

 private:
  static constexpr float min_expected_ns = 1300;
  static constexpr float empty_kernel_ns = 1000;  // even shorter kernels have the same shape
  static constexpr std::uint32_t max_vague_samples = 1 << 20;
  // Measured on an H200: the time of a batch besides its kernels, and the front end's time for a
  // node.
  static constexpr float batch_overhead_ns = 4000;
  static constexpr float node_cost_ns = 200;
  static constexpr float node_cost_of_many_ns = 380;  // in batches of several chains
  static constexpr std::uint32_t max_rewritten = 64;
  static constexpr std::uint32_t max_counted_tasks = 16;  // of a batch
  static constexpr std::uint32_t max_interval = 256;      // counted tasks

  /// In many chains a short kernel looks long enough for them. So fewer chains are tried now and
  /// then. Each try comes after twice as many vague samples as the one before, because a kernel
  /// that needs many chains loses time by it.
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
    shape_ = shape_for(kernel_ns, device_updated_);
  }
  void measure_again_in(std::uint32_t tasks) noexcept {
    until_measured_ = interval_ = std::min(tasks, max_interval);
  }

  float kernel_ns_ = 0;
  float last_sample_ns_ = 0;
  bool device_updated_ = false;
  std::uint32_t rewritten_ = 0;      // batches in a row
  std::uint32_t vague_samples_ = 0;  // since fewer chains were tried
  std::uint32_t vague_limit_ = 8;
  std::uint32_t interval_ = 1;  // in counted tasks
  std::uint32_t until_measured_ = 1;
  batch_shape shape_;
};

}  // namespace flotilla::dispatch
