// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/stream_waits.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <flotilla/error/error.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

constexpr char subject[] = "the stream of enqueue_wait";

CUdeviceptr address_of(stream_waits::flag const& one) noexcept {
  return reinterpret_cast<CUdeviceptr>(one.word);
}

}  // namespace

void stream_waits::create() {
  std::size_t const count = parts_.shared.tuned.stream_wait_flags;
  free_receipts_.reserve(count);
  void* memory = nullptr;
  driver::check(parts_.api.mem_host_alloc(&memory, 2 * count * sizeof(std::uint64_t),
                                          CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                "cuMemHostAlloc", "pinned memory for enqueue_wait");
  words_ = static_cast<std::uint64_t*>(memory);
  std::memset(words_, 0, 2 * count * sizeof(std::uint64_t));
  parts_.flags.add(words_, count);
  for (std::size_t i = 0; i < count; ++i) { free_receipts_.push_back({words_ + count + i, 0}); }
}

bool stream_waits::check(CUstream stream) const {
  CUcontext context = nullptr;
  driver::check(parts_.api.stream_get_ctx(stream, &context), "cuStreamGetCtx", subject);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  driver::check(parts_.api.stream_is_capturing(stream, &status), "cuStreamIsCapturing", subject);
  if (status != CU_STREAM_CAPTURE_STATUS_NONE) {
    throw invalid_argument(
        "enqueue_wait: the stream is capturing a graph, but a task runs only once; call "
        "enqueue_wait before the capture begins");
  }
  for (unsigned i = 0; i < parts_.devices.size(); ++i) {
    context::context_handle const& own = parts_.devices[i].context();
    context_source const source = own.asked().context.value_or(context_source::owned());
    // Only an owned context is sure to share no connections. A green context shares them with the
    // primary context, and an adopted context may be green.
    if (own.handle() == context || source.kind != context_source::kinds::owned) { return true; }
  }
  return false;
}

void stream_waits::wait_until_launched(task_id const& task) const {
  ticket_wait wait{parts_.waiting, parts_.deadlocks, task, std::nullopt,
                   ticket_wait::goals::launched};
  parts_.waiting.until(wait);
  end_mark const end{parts_.shared.tasks.at(task.slot).end.load(std::memory_order_acquire)};
  if (end.valid() && parts_.shared.lost.is_isolated(end.device())) {
    ticket_wait whole{parts_.waiting, parts_.deadlocks, task, std::nullopt,
                      ticket_wait::goals::ended};
    parts_.waiting.until(whole);
  }
}

template <class Wait>
void stream_waits::enqueue_with_receipt(CUstream stream, Wait const& wait) {
  receipt_list taken = take_receipt(stream);
  driver::call_outcome const answer = wait();
  bool is_written = false;
  if (answer.ok() && !taken.empty()) {
    flag const& written = taken.front().written;
    is_written = parts_.api.stream_write_value_64(stream, address_of(written), written.number,
                                                  CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS;
  }
  {
    std::lock_guard const lock(receipts_mutex_);
    if (is_written) {
      open_receipts_.splice(open_receipts_.end(), taken);
    } else if (answer.ok()) {
      must_leak_ = true;
    } else if (!taken.empty()) {
      free_receipts_.push_back(taken.front().written);
    }
  }
  driver::check(answer.status, answer.call, subject);
}

bool stream_waits::enqueue_if_launched(task_id const& task, CUstream stream) {
  slot const& one = parts_.shared.tasks.at(task.slot);
  end_mark const end{one.end.load(std::memory_order_acquire)};
  // The slot may already hold a later task. Then the mark may be the later task's mark, but this
  // task has ended.
  if (parts_.query.has_ended(task)) { return true; }
  // The number of an isolated device may be reached although the task must run again.
  if (!end.valid() || parts_.shared.lost.is_isolated(end.device())) { return false; }
  enqueue_with_receipt(stream, [&] { return parts_.shared.board.enqueue_wait(stream, end); });
  return true;
}

void stream_waits::enqueue(flag const& one, CUstream stream) {
  enqueue_with_receipt(stream, [&]() -> driver::call_outcome {
    return {parts_.api.stream_wait_value_64(stream, address_of(one), one.number,
                                            CU_STREAM_WAIT_VALUE_GEQ),
            "cuStreamWaitValue64"};
  });
}

unsigned long long stream_waits::id_of(CUcontext context) const noexcept {
  unsigned long long id = 0;
  if (parts_.api.ctx_get_id == nullptr || parts_.api.ctx_get_id(context, &id) != CUDA_SUCCESS) {
    return 0;
  }
  return id;
}

bool stream_waits::has_passed(receipt const& one, bool check_context) const noexcept {
  // acquire: pairs with the stream's write
  flag const& written = one.written;
  if (std::atomic_ref{*written.word}.load(std::memory_order_acquire) >= written.number) {
    return true;
  }
  return check_context && id_of(one.context) != one.context_id;
}

stream_waits::receipt_list stream_waits::take_receipt(CUstream stream) {
  CUcontext context = nullptr;
  driver::check(parts_.api.stream_get_ctx(stream, &context), "cuStreamGetCtx", subject);
  unsigned long long const id = id_of(context);
  receipt_list taken;
  taken.push_back({{}, context, id});
  std::lock_guard const lock(receipts_mutex_);
  while (!open_receipts_.empty() && has_passed(open_receipts_.front(), false)) {
    free_receipts_.push_back(open_receipts_.front().written);
    open_receipts_.pop_front();
  }
  if (free_receipts_.empty()) { return {}; }
  flag& written = taken.front().written;
  written = free_receipts_.back();
  free_receipts_.pop_back();
  ++written.number;
  return taken;
}

void stream_waits::finish(bool is_poisoned) noexcept {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds context_interval{100};
  std::lock_guard const lock(receipts_mutex_);
  if (is_poisoned) {
    must_leak_ = must_leak_ || !open_receipts_.empty();
    return;
  }
  auto next_check = clock::now() + context_interval;
  for (receipt const& one : open_receipts_) {
    while (!has_passed(one, false)) {
      if (clock::now() >= next_check) {
        // The application may have destroyed the stream's context, and the wait with it.
        if (has_passed(one, true)) { break; }
        next_check = clock::now() + context_interval;
      }
      std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
  }
  open_receipts_.clear();
}

void stream_waits::destroy() noexcept {
  if (words_ == nullptr || must_leak_) { return; }
  parts_.flags.forget();
  parts_.api.mem_free_host(std::exchange(words_, nullptr));
}

}  // namespace flotilla::dispatch
