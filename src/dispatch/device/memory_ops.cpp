// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/memory_ops.hpp"

#include <algorithm>
#include <cstring>

#include "dispatch/device/pitched_copy.hpp"
#include "dispatch/task/cancellation.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

/// Returns the word at `offset` in the fill pattern.
template <class Word>
Word word_of(detail::memory_command const& what, std::size_t offset) noexcept {
  Word word;
  std::memcpy(&word, what.pattern + offset, sizeof word);
  return word;
}

struct memset_call {
  driver::call_outcome outcome;
  std::size_t bytes;  // how many bytes the call writes
};

/// Writes the next 1, 2 or 4 bytes of the pattern, beginning at `offset`, with one memset. The
/// driver requires an address that is a multiple of this number.
memset_call memset_at(detail::memory_command const& what, std::size_t offset,
                      driver::table const& api, CUstream stream) {
  std::uintptr_t const to = what.to + offset;
  std::size_t const left = what.pattern_bytes - offset;
  if (left >= 4 && to % 4 == 0) {
    return {
        {api.memset_d32_async(to, word_of<unsigned>(what, offset), 1, stream), "cuMemsetD32Async"},
        4};
  }
  if (left >= 2 && to % 2 == 0) {
    return {{api.memset_d16_async(to, word_of<unsigned short>(what, offset), 1, stream),
             "cuMemsetD16Async"},
            2};
  }
  unsigned char const byte = std::to_integer<unsigned char>(what.pattern[offset]);
  return {{api.memset_d8_async(to, byte, 1, stream), "cuMemsetD8Async"}, 1};
}

}  // namespace

bool memory_ops::start(slot_address task, std::span<end_mark const> waits) {
  detail::memory_command const& what =
      held_in<detail::memory_command>(parts_.shared.tasks.at(task));
  bool const is_download = what.kind == memory_op_kind::device_to_host;
  bool const has_host_side = is_download || what.kind == memory_op_kind::host_to_device;
  if (has_host_side && !what.pinned && what.bytes != 0) {
    if (cancelled_before_launch(parts_.shared.tasks.at(task))) [[unlikely]] {
      parts_.reporter.cancel(task);
    } else {
      parts_.staged.add(task, what, waits);
    }
    return true;
  }
  lane& lane = parts_.lanes[is_download ? lane_layout::download_lane : lane_layout::upload_lane];
  parts_.batches.flush(lane.index());
  if (!lane.has_room()) { return false; }
  bool const between = is_between(what);
  if (between) [[unlikely]] {
    lost_devices const& lost = parts_.shared.lost;
    if (unsigned const from = what.from_device.value; lost.is_quarantined(from)) {
      parts_.reporter.abandon(task, lost.failure_of(from));
      return true;
    } else if (lost.is_lost(from)) {
      return false;
    }
  }
  if (cancelled_before_launch(parts_.shared.tasks.at(task))) [[unlikely]] {
    parts_.reporter.cancel(task);
    return true;
  }
  if (auto const answer = parts_.lanes.enqueue_waits(lane, waits); !answer.ok()) {
    parts_.reporter.refuse(task, answer);
    return true;
  }
  if (what.bytes != 0) {
    if (auto const answer = enqueue(what, lane.stream()); !answer.ok()) {
      if (between && has_lost_source(what, answer, lane.stream())) {
        give_up_launch(parts_.shared.tasks.at(task));
        return false;
      }
      parts_.reporter.refuse(task, answer);
      return true;
    }
  }
  parts_.committer.launched(task, lane, lane.begin(), &parts_.filling);
  return true;
}

bool memory_ops::is_between(detail::memory_command const& what) const noexcept {
  return what.kind == memory_op_kind::device_to_device && what.bytes != 0 &&
         parts_.shared.lost.must_wait_on_host(what.device.value, what.from_device.value);
}

bool memory_ops::has_lost_source(detail::memory_command const& what, driver::call_outcome why,
                                 CUstream stream) const noexcept {
  lost_devices const& lost = parts_.shared.lost;
  unsigned const from = what.from_device.value;
  if (!is_sticky(driver::status_of(why.status)) || lost.is_lost(what.device.value)) {
    return false;
  }
  // If this device had faulted, every call would say so.
  CUresult const here = parts_.context.api().stream_query(stream);
  if (is_sticky(driver::status_of(here))) { return false; }
  // An isolated source may have its next worker already.
  if (!lost.is_isolated(from) || lost.is_lost(from)) {
    parts_.shared.faults.note(why.status, from);
  }
  return true;
}

driver::call_outcome memory_ops::enqueue(detail::memory_command const& what,
                                         CUstream stream) const {
  driver::table const& api = parts_.context.api();
  CUcontext const home = parts_.context.handle();
  if (what.is_pitched) {
    bool const has_rows = is_between(what) && api.copy_rows_between != nullptr;
    CUcontext const from =
        has_rows ? parts_.contexts[what.from_device.value]->handle() : CUcontext{nullptr};
    return enqueue_pitched_copy(what, api, stream, {home, from});
  }
  switch (what.kind) {
    case memory_op_kind::host_to_device:
      return {api.memcpy_htod_async(what.to, reinterpret_cast<void const*>(what.from), what.bytes,
                                    stream),
              "cuMemcpyHtoDAsync"};
    case memory_op_kind::device_to_host:
      return {
          api.memcpy_dtoh_async(reinterpret_cast<void*>(what.to), what.from, what.bytes, stream),
          "cuMemcpyDtoHAsync"};
    case memory_op_kind::device_to_device:
      if (what.device == what.from_device) {
        return {api.memcpy_dtod_async(what.to, what.from, what.bytes, stream), "cuMemcpyDtoDAsync"};
      }
      // The copy is direct if this device has access to the source (context::peer_table). Otherwise
      // the driver copies through host memory.
      return {api.memcpy_peer_async(what.to, home, what.from,
                                    parts_.contexts[what.from_device.value]->handle(), what.bytes,
                                    stream),
              "cuMemcpyPeerAsync"};
    case memory_op_kind::fill: return fill(what, stream);
  }
  return {CUDA_ERROR_INVALID_VALUE, "cuMemcpyAsync"};
}

driver::call_outcome memory_ops::fill(detail::memory_command const& what, CUstream stream) const {
  driver::table const& api = parts_.context.api();
  unsigned char const byte = std::to_integer<unsigned char>(what.pattern[0]);
  switch (what.pattern_bytes) {
    case 1: return {api.memset_d8_async(what.to, byte, what.bytes, stream), "cuMemsetD8Async"};
    case 2:
      return {
          api.memset_d16_async(what.to, word_of<unsigned short>(what, 0), what.bytes / 2, stream),
          "cuMemsetD16Async"};
    case 4:
      return {api.memset_d32_async(what.to, word_of<unsigned>(what, 0), what.bytes / 4, stream),
              "cuMemsetD32Async"};
    default: return fill_by_doubling(what, stream);
  }
}

driver::call_outcome memory_ops::fill_by_doubling(detail::memory_command const& what,
                                                  CUstream stream) const {
  driver::table const& api = parts_.context.api();
  // Write the pattern once with memsets. A copy from host memory would require that the host memory
  // stays valid until the device has read it.
  std::size_t written = 0;
  while (written < what.pattern_bytes) {
    memset_call const call = memset_at(what, written, api, stream);
    if (!call.outcome.ok()) { return call.outcome; }
    written += call.bytes;
  }
  // Each copy doubles the filled part.
  while (written < what.bytes) {
    std::size_t const bytes = std::min(written, what.bytes - written);
    CUresult const status = api.memcpy_dtod_async(what.to + written, what.to, bytes, stream);
    if (status != CUDA_SUCCESS) { return {status, "cuMemcpyDtoDAsync"}; }
    written += bytes;
  }
  return {};
}

}  // namespace flotilla::dispatch
