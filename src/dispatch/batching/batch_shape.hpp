#pragma once
// Chooses how many launches form a batch and how many lanes the batches use.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>

namespace flotilla::dispatch {

struct batch_shape {
  std::uint32_t max_tasks = 1;  // maximum number of tasks in a batch; a power of two
  // Replaces `max_tasks` while the device is saturated: at least `lanes * chains` tasks are in
  // flight or wait to be launched.
  std::uint32_t max_tasks_saturated = 1;
  std::uint32_t chains = 1;               // parallel chains in a batch
  std::uint32_t max_chain = 1;            // maximum length of a chain
  std::uint32_t rows_per_completion = 1;  // rows between completion nodes (see graph_template)
  std::uint32_t lanes = 8;                // number of lanes that the batches use
  // The maximum number of batches in flight on a lane. This many batches keep the lane busy until
  // the next pass. With more, a new task would wait longer.
  std::uint32_t batches = 4;

  /// Returns how many tasks a batch may hold now.
  /// @param at_hand  Number of tasks that are in flight on the device or wait to be launched there.
  [[nodiscard]] constexpr std::uint32_t max_batch(std::size_t at_hand) const noexcept {
    // If there are more tasks than can run in parallel, some tasks must run after others anyway.
    return at_hand < std::size_t{lanes} * chains ? max_tasks : max_tasks_saturated;
  }
  /// Returns how many tasks a batch may hold now if its tasks run one after another. While the
  /// device is not saturated, a task that follows a long task gets a batch of its own. If both
  /// tasks were in one batch, the end of the long task would become visible only when both tasks
  /// have ended.
  [[nodiscard]] constexpr std::uint32_t max_ordered_batch(std::size_t at_hand) const noexcept {
    return max_batch(at_hand) > chains ? max_chain : 1;
  }
};

// Boundaries between short, medium and long kernels, measured on an H200 (docs/performance.md).
inline constexpr float short_kernel_ns = 3000;  // with shorter kernels, 16 chains keep a GPU busy
inline constexpr float long_running_kernel_ns = 8000;  // a first measurement never errs by more
inline constexpr std::uint32_t lanes_of_short_kernels = 8;

/// Returns the shape of batches of a kernel that takes `kernel_ns`.
///
/// Batches of short kernels have two chains, because the GPU's front end is fastest with two chains
/// per batch. In total, sixteen chains keep a GPU busy with kernels of up to 2.5 us. A task then
/// takes 185 ns; with eight chains it takes 204 ns, with six 217 ns.
///
/// Batches of longer kernels have more chains on more lanes, so more kernels run in parallel. The
/// limit is 128 kernels, which is what a GPU can run at once. With more chains, a batch's
/// completion kernel would have to wait for a place on the GPU.
///
/// Completion nodes inside a batch are at most about 60 us apart, but at least two kernels apart.
/// So the end of a task becomes visible up to 60 us late, or one kernel length late if a kernel
/// takes longer than that. Kernels of 8 us and more run one after another in a batch only if the
/// device is saturated.
///
/// If the device itself updates the templates of short kernels, a lane has one batch in flight
/// instead of two. One batch on each of the eight lanes is 100 us of work in total, which is
/// enough. Two batches per lane would need twice as many templates, and a burst of tasks would take
/// twice as long to reach full speed. If the host rewrites the templates, one batch is not enough
/// to keep a lane busy.
/// @param device_updated  Whether the device updates the templates of such batches.
[[nodiscard]] constexpr batch_shape shape_for(float kernel_ns,
                                              bool device_updated = false) noexcept {
  constexpr float completion_interval_ns = 60'000;
  constexpr float max_batch_ns = 200'000;  // a new task may have to wait for a whole batch
  auto const rows = [kernel_ns](float time_ns) {
    return std::bit_floor(static_cast<std::uint32_t>(std::clamp(time_ns / kernel_ns, 2.0F, 64.0F)));
  };
  bool const is_short = kernel_ns < short_kernel_ns;
  bool const is_long = kernel_ns >= long_running_kernel_ns;
  batch_shape shape;
  shape.chains = is_short ? 2 : is_long ? 8 : 4;
  shape.rows_per_completion = rows(completion_interval_ns);
  shape.max_tasks_saturated = std::min(rows(max_batch_ns) * shape.chains, 64u);
  shape.max_chain = rows(max_batch_ns);
  shape.max_tasks =
      is_long ? shape.chains : std::min(shape.rows_per_completion * shape.chains, 64u);
  shape.lanes = is_short ? lanes_of_short_kernels : 16;
  std::uint32_t const completions =
      shape.max_tasks_saturated / (shape.rows_per_completion * shape.chains);
  shape.batches = std::max(is_short || is_long ? 2u : 4u, 2 * completions);
  if (is_short && device_updated) { shape.batches = std::max(1u, completions); }
  return shape;
}

}  // namespace flotilla::dispatch
