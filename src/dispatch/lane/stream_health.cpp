// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lane/stream_health.hpp"

#include <thread>

#include <flotilla/error/driver_status.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

stream_health::answer stream_health::query() noexcept {
  // acquire: pairs with the release below and in ~pause
  if (is_querying_.exchange(true, std::memory_order_acquire)) { return {}; }
  answer const found = query_all();
  is_querying_.store(false, std::memory_order_release);
  return found;
}

std::optional<bool> stream_health::replace_lost_number(unsigned lane,
                                                       std::uint64_t expected) noexcept {
  if (lane_layout::takes_callables(lane)) { return false; }  // the query would break a capture
  // acquire: as in query
  if (is_querying_.exchange(true, std::memory_order_acquire)) { return std::nullopt; }
  bool const was_lost = lanes_[lane].query(expected);
  is_querying_.store(false, std::memory_order_release);
  return was_lost;
}

stream_health::answer stream_health::query_all() noexcept {
  constexpr int max_errors = 8;
  for (unsigned i = 0; i < lane_layout::all_lanes; ++i) { lanes_[i].query(); }
  // One query is enough, because a fault affects the whole context. Do not query a stream of
  // callables: the query would break a capture.
  CUresult const found = context_.api().stream_query(lanes_[lane_layout::upload_lane].stream());
  if (found == CUDA_SUCCESS || found == CUDA_ERROR_NOT_READY) {
    consecutive_errors_ = 0;
    return {};
  }
  // After max_errors errors in a row, assume that the stream will never report the end of its work.
  // For example, the context may have been destroyed.
  ++consecutive_errors_;
  return {found, is_sticky(driver::status_of(found)) || consecutive_errors_ >= max_errors};
}

bool stream_health::any_busy() const noexcept {
  for (unsigned i = 0; i < lane_layout::all_lanes; ++i) {
    CUstream const stream = lanes_[i].stream();
    bool const is_made = stream != nullptr;
    if (is_made && context_.api().stream_query(stream) == CUDA_ERROR_NOT_READY) { return true; }
  }
  return false;
}

stream_health::pause::pause(stream_health& of) noexcept : of_(of) {
  // acquire: pairs with the release in query
  while (of_.is_querying_.exchange(true, std::memory_order_acquire)) { std::this_thread::yield(); }
  for (unsigned i = 0; i < lane_layout::all_lanes; ++i) { of_.lanes_[i].forget_unwritten(); }
  of_.consecutive_errors_ = 0;
}

}  // namespace flotilla::dispatch
