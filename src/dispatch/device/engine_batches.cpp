// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/engine_batches.hpp"

#include <algorithm>

#include "dispatch/task/cancellation.hpp"

namespace flotilla::dispatch {

namespace {

detail::memory_command const& command_of(slot& task) noexcept {
  return held_in<detail::memory_command>(task);
}

unsigned lane_of(detail::memory_command const& what) noexcept {
  return what.kind == memory_op_kind::device_to_host ? lane_layout::download_lane
                                                     : lane_layout::upload_lane;
}

bool is_waited_for(end_mark mark, std::span<end_mark const> waits) noexcept {
  return std::any_of(waits.begin(), waits.end(), [mark](end_mark each) {
    return each.device() == mark.device() && each.lane() == mark.lane() &&
           each.number() >= mark.number();
  });
}

}  // namespace

bool engine_batches::suits(slot& task, std::size_t expected) const noexcept {
  if (expected < min_expected) { return false; }
  detail::memory_command const& what = command_of(task);
  bool const has_host_side =
      what.kind == memory_op_kind::device_to_host || what.kind == memory_op_kind::host_to_device;
  return has_host_side && what.pinned && !what.is_pitched && what.bytes >= min_bytes &&
         what.bytes <= max_bytes && task.batch && parts_.shared.fuse_launches &&
         parts_.context.api().memcpy_batch_async != nullptr;
}

bool engine_batches::add(slot_address task, std::span<end_mark const> waits) {
  detail::memory_command const& what = command_of(parts_.shared.tasks.at(task));
  lane& lane = parts_.lanes[lane_of(what)];
  open_batch& batch = batch_of(lane.index());
  bool const is_like = std::all_of(waits.begin(), waits.end(),
                                   [&](end_mark mark) { return is_waited_for(mark, batch.waits); });
  // The copies that are already in the batch must not wait for the predecessors of this one.
  if (!is_like) { flush(lane.index()); }
  if (!lane.has_room()) { return false; }
  if (!is_like || batch.tasks.empty()) {
    if (auto const answer = parts_.lanes.enqueue_waits(lane, waits); !answer.ok()) {
      parts_.reporter.refuse(task, answer);
      return true;
    }
    batch.waits.assign(waits.begin(), waits.end());
  }
  batch.tasks.push_back(task);
  batch.bytes += what.bytes;
  if (batch.tasks.size() == max_copies || batch.bytes >= max_batch_bytes) { flush(lane.index()); }
  return true;
}

void engine_batches::flush_all() {
  flush(lane_layout::upload_lane);
  flush(lane_layout::download_lane);
}

void engine_batches::flush(unsigned index) {
  open_batch& batch = batch_of(index);
  if (batch.tasks.empty()) { return; }
  remove_cancelled(batch);
  lane& lane = parts_.lanes[index];
  if (!batch.tasks.empty() && enqueue(batch.tasks, lane.stream()) != CUDA_SUCCESS) {
    enqueue_each(batch.tasks, lane.stream());
  }
  if (!batch.tasks.empty()) {
    parts_.committer.launched(batch.tasks, lane, lane.begin(), &parts_.filling);
  }
  batch.tasks.clear();
  batch.waits.clear();
  batch.bytes = 0;
}

void engine_batches::remove_cancelled(open_batch& batch) {
  for (slot_address const task : batch.tasks) { begin_launch(parts_.shared.tasks.at(task)); }
  launch_fence();
  std::erase_if(batch.tasks, [this](slot_address task) {
    bool const cancelled = is_cancelled(parts_.shared.tasks.at(task));
    if (cancelled) [[unlikely]] { parts_.reporter.cancel(task); }
    return cancelled;
  });
}

CUresult engine_batches::enqueue(std::span<slot_address const> tasks, CUstream stream) {
  std::size_t count = 0;
  for (slot_address const task : tasks) {
    detail::memory_command const& what = command_of(parts_.shared.tasks.at(task));
    // Programs often copy an array chunk by chunk. One larger copy costs the driver less.
    std::size_t const last = count - 1;
    bool const continues_last = count != 0 && to_[last] + bytes_[last] == what.to &&
                                from_[last] + bytes_[last] == what.from;
    if (continues_last) {
      bytes_[last] += what.bytes;
    } else {
      to_[count] = what.to;
      from_[count] = what.from;
      bytes_[count] = what.bytes;
      ++count;
    }
  }
  CUmemcpyAttributes order{};
  order.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0;
  return parts_.context.api().memcpy_batch_async(to_.data(), from_.data(), bytes_.data(), count,
                                                 &order, &first, 1, stream);
}

void engine_batches::enqueue_each(std::vector<slot_address>& tasks, CUstream stream) {
  driver::table const& api = parts_.context.api();
  std::erase_if(tasks, [&](slot_address task) {
    detail::memory_command const& what = command_of(parts_.shared.tasks.at(task));
    bool const is_download = what.kind == memory_op_kind::device_to_host;
    CUresult const answer =
        is_download
            ? api.memcpy_dtoh_async(reinterpret_cast<void*>(what.to), what.from, what.bytes, stream)
            : api.memcpy_htod_async(what.to, reinterpret_cast<void const*>(what.from), what.bytes,
                                    stream);
    if (answer == CUDA_SUCCESS) { return false; }
    parts_.reporter.refuse(task, {answer, is_download ? "cuMemcpyDtoHAsync" : "cuMemcpyHtoDAsync"});
    return true;
  });
}

}  // namespace flotilla::dispatch
