// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/runtime/stream_waits.hpp"

#include <atomic>
#include <cstring>
#include <utility>

#include <flotilla/error/error.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

using driver::check;

constexpr char subject[] = "the stream of enqueue_wait";

/// Makes the context of a stream current until the end of the block.
class stream_context {
 public:
  stream_context(driver::table const& api, CUstream stream) : api_(api) {
    driver::check(api.stream_get_ctx(stream, &context_), "cuStreamGetCtx", subject);
    CUcontext current = nullptr;
    driver::check(api.ctx_get_current(&current), "cuCtxGetCurrent", subject);
    if (current == context_) { return; }
    driver::check(api.ctx_push_current(context_), "cuCtxPushCurrent", subject);
    pushed_ = true;
  }
  ~stream_context() {
    CUcontext popped = nullptr;
    if (pushed_) { api_.ctx_pop_current(&popped); }
  }
  stream_context(stream_context const&) = delete;
  stream_context& operator=(stream_context const&) = delete;
  [[nodiscard]] CUcontext get() const noexcept { return context_; }

 private:
  driver::table const& api_;
  CUcontext context_ = nullptr;
  bool pushed_ = false;
};

}  // namespace

bool stream_waits::check(CUstream stream) const {
  stream_context const context{parts_.api, stream};
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  driver::check(parts_.api.stream_is_capturing(stream, &status), "cuStreamIsCapturing", subject);
  if (status != CU_STREAM_CAPTURE_STATUS_NONE) {
    throw invalid_argument(
        "enqueue_wait: the stream is capturing a graph, but a task runs only once; call "
        "enqueue_wait before the capture begins");
  }
  for (unsigned i = 0; i < parts_.devices.size(); ++i) {
    if (parts_.devices[i].context().handle() == context.get()) { return true; }
  }
  return false;
}

void stream_waits::wait_until_launched(task_id const& task) const {
  ticket_wait wait{parts_.waiting, parts_.deadlocks, task, std::nullopt,
                   ticket_wait::goals::launched};
  parts_.waiting.until(wait);
}

bool stream_waits::enqueue_if_launched(task_id const& task, CUstream stream) {
  slot const& one = parts_.shared.tasks.at(task.slot);
  end_mark const end{one.end.load(std::memory_order_acquire)};
  // The slot may already hold a later task. Then the mark may be the later task's mark, but this
  // task has ended.
  if (parts_.query.has_ended(task)) { return true; }
  if (!end.valid()) { return false; }
  stream_context const context{parts_.api, stream};
  driver::check(parts_.shared.board.enqueue_wait(stream, end), "cuStreamWaitValue64", subject);
  note_wait(context.get(), stream);
  return true;
}

void stream_waits::create() {
  std::size_t const count = parts_.shared.tuned.stream_wait_flags;
  free_.reserve(count);  // so that `raise` never allocates
  void* memory = nullptr;
  driver::check(parts_.api.mem_host_alloc(&memory, count * sizeof(std::uint64_t),
                                          CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                "cuMemHostAlloc", "pinned memory for enqueue_wait");
  words_ = static_cast<std::uint64_t*>(memory);
  std::memset(words_, 0, count * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < count; ++i) { free_.push_back({words_ + i, 0}); }
}

std::optional<stream_waits::flag> stream_waits::take() {
  std::lock_guard const lock(mutex_);
  if (free_.empty()) { return std::nullopt; }
  flag one = free_.back();
  free_.pop_back();
  ++one.number;
  return one;
}

void stream_waits::destroy() noexcept {
  if (words_ != nullptr) { parts_.api.mem_free_host(std::exchange(words_, nullptr)); }
}

void stream_waits::raise(flag const& one) noexcept {
  // release: the stream must see what the host did before the task's continuation ran
  std::atomic_ref{*one.word}.store(one.number, std::memory_order_release);
  std::lock_guard const lock(mutex_);
  free_.push_back(one);
}

void stream_waits::enqueue(flag const& one, CUstream stream) {
  stream_context const context{parts_.api, stream};
  driver::check(parts_.api.stream_wait_value_64(stream, reinterpret_cast<CUdeviceptr>(one.word),
                                                one.number, CU_STREAM_WAIT_VALUE_GEQ),
                "cuStreamWaitValue64", subject);
  note_wait(context.get(), stream);
}

void stream_waits::note_wait(CUcontext context, CUstream stream) {
  std::lock_guard const lock(mutex_);
  CUevent event = nullptr;
  for (passed const& each : waits_) {
    if (each.context == context && parts_.api.event_query(each.event) == CUDA_SUCCESS) {
      event = each.event;
      break;
    }
  }
  if (event == nullptr) {
    waits_.reserve(waits_.size() + 1);
    driver::check(parts_.api.event_create(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC),
                  "cuEventCreate", subject);
    waits_.push_back({context, event});
  }
  driver::check(parts_.api.event_record(event, stream), "cuEventRecord", subject);
}

void stream_waits::finish() noexcept {
  std::lock_guard const lock(mutex_);
  // An error means that the stream's context is gone or has failed. Then the stream waits no more.
  for (passed const& each : waits_) {
    parts_.api.event_synchronize(each.event);
    parts_.api.event_destroy(each.event);
  }
  waits_.clear();
}

}  // namespace flotilla::dispatch
