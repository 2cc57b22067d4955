// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stream group contains all streams of a context or of a green context, including the NULL
// stream. Most functions of the class act on the whole group: synchronize() waits for all streams.

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

/// Thread-safe.
class stream_group {
 public:
  /// `part` is the handle of the green context that the streams belong to; null if they belong to a
  /// whole context. Kernels in these streams run on the multiprocessors in `allowed`. The context
  /// must live longer than the group.
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
  /// For the device thread only.
  [[nodiscard]] legacy_stream_order& order() noexcept { return order_; }
  /// Counts the streams that have not ended.
  [[nodiscard]] latch& open_streams() noexcept { return open_streams_; }

  /// Creates a stream. Returns null if tear_down() has begun. Throws std::bad_alloc.
  [[nodiscard]] CUstream create(stream_kind kind, int priority);
  /// Destroys a stream. Returns false if `handle` is not a stream of this group, or if the stream
  /// was destroyed before.
  [[nodiscard]] bool destroy(CUstream handle);

  /// Waits until all earlier operations of all streams in `groups` have ended.
  static void synchronize(std::vector<stream_group*> const& groups, spin_times times);
  /// Returns a record that completes when all earlier operations of all streams in `groups` have
  /// ended.
  [[nodiscard]] static std::shared_ptr<event_record> record(
      std::vector<stream_group*> const& groups, bool timed);
  /// Makes all later operations of all streams in the group wait for `record`.
  void wait_for(std::shared_ptr<event_record> const& record);

  /// Whether the NULL stream and all blocking streams are idle.
  [[nodiscard]] bool legacy_idle();

  /// Lets all streams end after their pending operations, and waits until they have ended. Returns
  /// the handles of the streams that the application had not destroyed.
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
  bool ended_ = false;                    // whether tear_down() has begun; guarded by mutex_
  std::unordered_set<CUstream> streams_;  // guarded by mutex_
  // Records that new streams must wait for; guarded by mutex_.
  std::vector<std::shared_ptr<event_record>> awaited_;
};

}  // namespace flotilla::cpu_driver
