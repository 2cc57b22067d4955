#pragma once
// How many launches go out together, side by side or one behind the other, and on how many lanes: from what
// their kernel was seen to take.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <utility>

namespace flotilla::dispatch {

struct batch_shape {
  std::uint32_t most = 1;   // tasks of a batch, a power of two
  std::uint32_t most_when_full = 1;  // once the device has as many at once as these lanes and chains can be
  std::uint32_t width = 1;  // chains side by side in it
  std::uint32_t most_in_chain = 1;   // of tasks that are behind one another
  std::uint32_t run = 1;    // of how many behind one another the end is seen together: see graph_template
  std::uint32_t lanes = 8;  // to spread batches over
  std::uint32_t batches = 4;  // a lane has less in flight when it gets another: enough to be fed while a pass goes
                              // on, few enough that what comes next is not far behind
};

/// How long one kernel takes on one device, by what batches of it took there (see pace_probe).
class kernel_pace {
 public:
  /// @param depth   how many tasks followed one another in the batch
  /// @param chains  how many stood side by side on the device
  void note(std::chrono::nanoseconds took, std::uint32_t depth, std::uint32_t chains) noexcept {
    float const sample =
        std::max(static_cast<float>(took.count()) - around_batch, 1.0F) / static_cast<float>(std::max(depth, 1u));
    bool const known = nanoseconds_ != 0;
    // Where the device's front end was what the chains waited for, their kernels may be of any length up to that: only
    // news of shorter ones is news.
    float const at_front_end = static_cast<float>(chains) * (shape_.width <= 2 ? front_end : front_end_of_many);
    bool const says_little = at_front_end > 0.8F * sample;
    if (known && says_little && sample >= nanoseconds_) {
      // In many chains a short kernel looks as one that is worth them. Fewer are tried, and tell; each time after twice
      // as long, for with a kernel that is worth them that time is lost.
      if (shape_.lanes <= few_lanes || nanoseconds_ > surely_long || ++doubtful_ < patience_) { return ask_again_in(2 * interval_); }
      doubtful_ = 0;
      patience_ = std::min(2 * patience_, most_patience);
      believe(short_enough);
      return ask_again_in(1);
    }
    // The shorter of two: a batch may have had to wait for something else on the device.
    float const believed = known ? std::min(sample, last_) : sample;
    auto const weighed = [](float length) { return std::max(length, short_enough); };  // below all is the same
    bool const moved = known && (weighed(sample) > 1.5F * weighed(nanoseconds_) || weighed(sample) < weighed(nanoseconds_) / 1.5F);
    believe(believed);
    last_ = sample;
    ask_again_in(moved ? 1 : 2 * interval_);
  }

  /// A batch that has not ended `since` it was launched. Where that is far longer than it should take, its kernel has
  /// become a longer one: what comes next need not wait behind batches as deep as this one until it is done.
  /// @param behind  How many batches were in its lane before it.
  void note_open(std::chrono::nanoseconds since, std::uint32_t depth, std::size_t behind) noexcept {
    float const at_least = static_cast<float>(since.count()) / static_cast<float>(std::max(depth, 1u) * (behind + 1));
    float const expected = around_batch + std::max(nanoseconds_, as_good_as_empty) * static_cast<float>(depth);
    float const late = overdue * static_cast<float>(behind + 1);
    if (nanoseconds_ == 0 || static_cast<float>(since.count()) < late * expected) { return; }
    believe(at_least);
    ask_again_in(1);
  }

  /// Who fills in a batch of it that the device might. Once that was the device it is taken to be, for while there are not enough
  /// templates yet others are rewritten, and more in flight would want more templates; until many in a row were rewritten.
  void filled_in(bool by_device) noexcept {
    rewritten_ = by_device ? 0 : rewritten_ + 1;
    bool const now = by_device || (by_device_ && rewritten_ < many_rewritten);
    if (std::exchange(by_device_, now) != now && nanoseconds_ != 0) { shape_ = shape_for(nanoseconds_, now); }
  }

  /// Asked once a batch: whether this one should be measured. To measure one costs the host some 7 us, which a batch of many tasks
  /// does not feel, and one of a single task that is waited for does.
  [[nodiscard]] bool due(std::uint32_t tasks) noexcept {
    std::uint32_t const counts = std::clamp(tasks, 1u, most_counted);
    if (until_due_ <= counts) { return true; }
    until_due_ -= counts;
    return false;
  }

  /// Launches of a kernel that nobody has seen run go out alone.
  [[nodiscard]] batch_shape const& shape() const noexcept { return shape_; }
  [[nodiscard]] float nanoseconds() const noexcept { return nanoseconds_; }
  /// Whether one of them may take long: then nothing short should have to wait for it.
  [[nodiscard]] bool lasting() const noexcept { return nanoseconds_ == 0 || nanoseconds_ >= surely_long; }

  /// Short kernels form two chains, which costs the front end least; longer ones several, and more lanes, so that more of them
  /// run at once, the longest as many as a GPU can have, 128, and no more: what ends a batch would have to wait as well. Marks
  /// on the way let the first of a batch be seen some 50 us after their end, or as long after it as they took themselves.
  /// Kernels from some microseconds on follow one another only where the device is full. Measured on an H200:
  /// docs/performance.md.
  ///
  /// Short kernels that the device fills in itself have one batch a lane and not two: eight are 100 us of work, and templates for
  /// sixteen of each form take a flood twice as long to begin with. Where the host rewrites, lanes would run dry.
  [[nodiscard]] static batch_shape shape_for(float nanoseconds, bool by_device = false) noexcept {
    constexpr float seen_late = 60'000;
    constexpr float lasts = 200'000;  // a batch: what comes next has to wait for it
    auto const rows = [nanoseconds](float time) {
      return std::bit_floor(static_cast<std::uint32_t>(std::clamp(time / nanoseconds, 2.0F, 64.0F)));
    };
    // Sixteen chains keep the front end of a GPU busy with kernels of up to 2.5 us (185 ns a task; eight chains 204, six 217):
    // more would only make each batch longer.
    bool const is_short = nanoseconds < sixteen_chains;
    bool const is_long = nanoseconds >= surely_long;
    batch_shape made;
    made.width = is_short ? 2 : is_long ? 8 : 4;
    made.run = rows(seen_late);
    made.most_when_full = std::min(rows(lasts) * made.width, 64u);
    made.most_in_chain = rows(lasts);
    made.most = is_long ? made.width : std::min(made.run * made.width, 64u);
    made.lanes = is_short ? few_lanes : 16;
    std::uint32_t const marks = made.most_when_full / (made.run * made.width);
    made.batches = std::max(is_short || is_long ? 2u : 4u, 2 * marks);
    if (is_short && by_device) { made.batches = std::max(1u, marks); }
    return made;
  }

  /// What a mark on the way adds.
  static constexpr std::chrono::nanoseconds a_mark{1500};
  /// And a device's updating its nodes first.
  static constexpr std::chrono::nanoseconds an_update{3000};
  /// And a root that does nothing.
  static constexpr std::chrono::nanoseconds a_root{1000};

 private:
  static constexpr float as_good_as_empty = 1300;
  static constexpr float short_enough = 1000;
  static constexpr std::uint32_t few_lanes = 8;
  static constexpr float sixteen_chains = 3000;  // with what is between two of a chain: up to here so many are enough
  static constexpr float surely_long = 8000;  // no first look is that wrong
  static constexpr std::uint32_t most_patience = 1 << 20;
  // What a batch takes besides its kernels, and what the front end takes for one of them, on an H200.
  static constexpr float around_batch = 4000;
  static constexpr float front_end = 200;
  static constexpr float front_end_of_many = 380;  // where there are several chains in a batch
  static constexpr std::uint32_t many_rewritten = 64;
  static constexpr float overdue = 10;  // times what was expected
  static constexpr std::uint32_t most_counted = 16;    // tasks of a batch
  static constexpr std::uint32_t most_interval = 256;  // tasks that are counted

  void believe(float nanoseconds) noexcept {
    nanoseconds_ = last_ = nanoseconds;
    shape_ = shape_for(nanoseconds, by_device_);
  }
  void ask_again_in(std::uint32_t tasks) noexcept { until_due_ = interval_ = std::min(tasks, most_interval); }

  float nanoseconds_ = 0;  // 0: never seen
  float last_ = 0;
  bool by_device_ = false;
  std::uint32_t rewritten_ = 0;  // in a row
  std::uint32_t doubtful_ = 0;  // measurements that said little, since fewer chains were tried
  std::uint32_t patience_ = 8;
  std::uint32_t interval_ = 1;
  std::uint32_t until_due_ = 1;
  batch_shape shape_;
};

}  // namespace flotilla::dispatch
