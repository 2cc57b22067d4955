#pragma once
// How many launches go out together, side by side or one behind the other, and on how many lanes: from what
// their kernel was seen to take.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>

namespace flotilla::dispatch {

struct batch_shape {
  std::uint32_t most = 1;   // tasks of a batch, a power of two
  std::uint32_t width = 1;  // chains side by side in it
  std::uint32_t lanes = 8;  // to spread batches over
};

/// How long one kernel takes on one device, as seen from batches: each an upper bound, for a batch also waits for its
/// turn, and for somebody to see its end. So the shortest of the last batches is believed.
class kernel_pace {
 public:
  void note(std::chrono::nanoseconds took, std::uint32_t depth) noexcept {
    float const sample = static_cast<float>(took.count()) / static_cast<float>(std::max(depth, 1u));
    shortest_ = std::min(shortest_, std::max(sample, 1.0F));
    float const believed = std::min(shortest_, shortest_before_);
    if (++seen_ == window) {
      shortest_before_ = shortest_;
      shortest_ = std::numeric_limits<float>::max();
      seen_ = 0;
    }
    if (believed != nanoseconds_) {
      nanoseconds_ = believed;
      shape_ = shape_for(believed);
    }
  }

  /// Launches of a kernel that nobody has seen run go out alone.
  [[nodiscard]] batch_shape const& shape() const noexcept { return shape_; }
  [[nodiscard]] float nanoseconds() const noexcept { return nanoseconds_; }

  /// Short kernels form one chain, which costs the front end of a GPU least; longer ones several, and more lanes, so
  /// that more of them run at once. A batch says only at its end that its tasks are done: it is no deeper than
  /// lets the first of them wait some 50 us to be seen. Measured on an H200: docs/performance.md.
  [[nodiscard]] static batch_shape shape_for(float nanoseconds) noexcept {
    constexpr float seen_late = 60'000;
    // As good as empty: what counts is how few launches carry them. Six chains of 64 keep the front end of a GPU
    // busy (185 ns a task; four 236, eight 183); more only make each batch longer.
    if (nanoseconds < 1300) { return {.most = 64, .width = 1, .lanes = 6}; }
    auto const depth = static_cast<std::uint32_t>(std::clamp(seen_late / nanoseconds, 1.0F, 64.0F));
    batch_shape made;
    made.width = nanoseconds < 1900 ? 1 : 4;
    made.lanes = nanoseconds < 8000 ? 8 : 32;
    made.most = std::bit_floor(std::min(depth * made.width, 64u));
    return made;
  }

 private:
  static constexpr std::uint32_t window = 4;  // batches; few, for a kernel's length may follow its arguments

  float nanoseconds_ = 0;  // 0: never seen
  float shortest_ = std::numeric_limits<float>::max();
  float shortest_before_ = std::numeric_limits<float>::max();
  std::uint32_t seen_ = 0;
  batch_shape shape_;
};

}  // namespace flotilla::dispatch
