#pragma once
// The streams of a context, or of a green context: their NULL stream, the order that it imposes on
// them, and what concerns all of them, such as waiting for them and ending them.

#include <cuda.h>

#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "cpu_driver/base/latch.hpp"
#include "cpu_driver/properties/multiprocessors.hpp"
#include "cpu_driver/stream/event.hpp"
#include "cpu_driver/stream/legacy_stream_order.hpp"
#include "cpu_driver/stream/stream.hpp"

namespace flotilla::cpu_driver {

/// Threads: any.
class stream_group {
 public:
  /// `part` is the handle of the green context that the streams belong to, null for streams of a
  /// whole context. Their kernels use the multiprocessors of `allowed`. The context outlives the
  /// group.
  stream_group(context_resources& resources, CUcontext part,
               multiprocessor_set const& allowed) noexcept
      : resources_(resources),
        part_(part),
        allowed_(allowed),
        legacy_(nullptr, *this, stream_kind::legacy, stream::least_priority) {}

  [[nodiscard]] context_resources& resources() const noexcept { return resources_; }
  [[nodiscard]] CUcontext part() const noexcept { return part_; }
  [[nodiscard]] multiprocessor_set const& allowed() const noexcept { return allowed_; }
  [[nodiscard]] stream& legacy() noexcept { return legacy_; }
  [[nodiscard]] legacy_stream_order& order() noexcept { return order_; }  // the device thread's
  [[nodiscard]] latch& open_streams() noexcept { return open_streams_; }  // counts them

  /// Null after tear_down() has begun. Throws std::bad_alloc.
  [[nodiscard]] CUstream create(stream_kind kind, int priority);
  /// False if the group has no such stream (any more).
  [[nodiscard]] bool destroy(CUstream handle);

  /// Waits for everything submitted before to any stream of these groups.
  static void synchronize(std::vector<stream_group*> const& groups, spin_times times);
  /// A record that completes when everything submitted before to any of them has ended.
  [[nodiscard]] static std::shared_ptr<event_record> record(
      std::vector<stream_group*> const& groups, bool timed);
  /// Everything submitted from now on, to any stream of the group, waits for `record`.
  void wait_for(std::shared_ptr<event_record> const& record);

  /// Whether the NULL stream, and every stream that it waits for, is idle.
  [[nodiscard]] bool legacy_idle();

  /// Ends all streams after their work, and waits for that. Returns the handles of streams that
  /// nobody had destroyed.
  std::vector<CUstream> tear_down(spin_times times);

 private:
  [[nodiscard]] std::vector<CUstream> open_handles() const;

  context_resources& resources_;
  CUcontext const part_;
  multiprocessor_set const& allowed_;
  legacy_stream_order order_;
  latch open_streams_;
  stream legacy_;

  std::mutex mutable mutex_;
  bool ended_ = false;                                  // guarded by mutex_
  std::unordered_set<CUstream> streams_;                // guarded by mutex_
  std::vector<std::shared_ptr<event_record>> awaited_;  // by new streams; guarded by mutex_
};

}  // namespace flotilla::cpu_driver
