#pragma once
// How many launches go out together, and over how many lanes.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>

namespace flotilla::dispatch {

struct batch_shape {
  std::uint32_t max_tasks = 1;  // of a batch, a power of two
  // The same, if more tasks are at hand than the lanes run at once.
  std::uint32_t max_tasks_saturated = 1;
  std::uint32_t chains = 1;               // side by side in a batch
  std::uint32_t max_chain = 1;            // tasks that run one after another
  std::uint32_t rows_per_completion = 1;  // see graph_template
  std::uint32_t lanes = 8;                // the number of lanes to spread batches over
  // A lane with this many batches in flight gets no other. That is enough to keep it busy until the
  // next pass, and few enough that the next task does not wait long.
  std::uint32_t batches = 4;

  /// How many tasks may go out together now.
  /// @param at_hand  Tasks in flight and waiting on the device.
  [[nodiscard]] constexpr std::uint32_t max_batch(std::size_t at_hand) const noexcept {
    // If more tasks are at hand than can run side by side, some have to run after others.
    return at_hand < std::size_t{lanes} * chains ? max_tasks : max_tasks_saturated;
  }
  /// The same for tasks that run one after another. If the device has room, a task after a long one
  /// goes out by itself; otherwise the end of the long one would be seen only with the end of both.
  [[nodiscard]] constexpr std::uint32_t max_ordered_batch(std::size_t at_hand) const noexcept {
    return max_batch(at_hand) > chains ? max_chain : 1;
  }
};

// Limits between lengths of kernels, measured on an H200 (docs/performance.md).
inline constexpr float short_kernel_ns = 3000;         // shorter: sixteen chains keep a GPU busy
inline constexpr float long_running_kernel_ns = 8000;  // a first measurement never errs by so much
inline constexpr std::uint32_t lanes_of_short_kernels = 8;

/// The shape of batches of a kernel that takes `kernel_ns`.
///
/// Short kernels form two chains, because two chains cost the GPU's front end least. Sixteen chains
/// in all keep it busy with kernels of up to 2.5 us (185 ns a task; eight chains 204, six 217).
/// Longer kernels form more chains on more lanes, so that more of them run at once: up to 128, as
/// many as a GPU can run. With more, the kernel that ends a batch would have to wait too.
/// Completion nodes inside a batch show the end of its first tasks about 50 us late, or as late as
/// the tasks are long. From some microseconds on, kernels follow one another only if the device is
/// full.
///
/// If the device updates templates of short kernels itself, a lane has one batch in flight instead
/// of two: eight batches are 100 us of work, and with templates for sixteen a flood takes twice as
/// long to begin. If the host rewrites the templates, one batch is too little to keep a lane busy.
/// @param device_updated  Whether the device updates the templates of such batches.
[[nodiscard]] constexpr batch_shape shape_for(float kernel_ns,
                                              bool device_updated = false) noexcept {
  constexpr float completion_interval_ns = 60'000;
  constexpr float max_batch_ns = 200'000;  // the next task waits for a whole batch
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
