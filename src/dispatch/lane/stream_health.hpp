// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asks the streams of a device for errors.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "dispatch/lane/lane_set.hpp"

namespace flotilla::dispatch {

/// Threads: any.
class stream_health {
 public:
  stream_health(context::context_handle const& context, lane_set& lanes) noexcept
      : context_(context), lanes_(lanes) {}

  /// An error is final if it is sticky or if eight queries in a row failed.
  struct answer {
    CUresult status = CUDA_SUCCESS;
    bool final = false;
  };
  /// Queries the streams for errors, because a batch whose kernel faulted never writes its number.
  /// Does nothing if another thread is doing so.
  [[nodiscard]] answer query() noexcept;
  /// If the oldest batch of a lane has the number `expected`, and has ended without writing it,
  /// ends the batch. Does nothing for lanes of callables. Only for devices of this process: another
  /// runtime may have given an isolated device a worker whose streams are empty.
  /// @return whether the number was lost; empty if another thread is in `query`
  [[nodiscard]] std::optional<bool> replace_lost_number(unsigned lane,
                                                        std::uint64_t expected) noexcept;
  /// Returns whether a stream has work. Only the holder of the device's lease may call it: during a
  /// callable, the query would break its capture.
  [[nodiscard]] bool any_busy() const noexcept;
  /// While it lives, `query` does nothing.
  class pause {
   public:
    /// Waits until a thread that is inside `query` has left. Then forgets which numbers the driver
    /// has refused to write: an empty stream tells nothing about its work if a fault has emptied
    /// it.
    explicit pause(stream_health& of) noexcept;
    pause(pause const&) = delete;
    pause& operator=(pause const&) = delete;
    ~pause() { of_.is_querying_.store(false, std::memory_order_release); }

   private:
    stream_health& of_;
  };

 private:
  [[nodiscard]] answer query_all() noexcept;

  context::context_handle const& context_;
  lane_set& lanes_;
  std::atomic<bool> is_querying_{false};  // a thread is in `query`, or has made a `pause`
  int consecutive_errors_ = 0;            // guarded by is_querying_
};

}  // namespace flotilla::dispatch
