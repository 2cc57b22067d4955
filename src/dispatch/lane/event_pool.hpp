// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pool of events of one context. An event is in use only during a call of `with`.

#include <cuda.h>

#include <mutex>
#include <utility>
#include <vector>

#include "context/context_handle.hpp"

namespace flotilla::dispatch {

/// Threads: any. An event may be recorded again as soon as all waits for its previous record are
/// enqueued. A wait refers to the latest record at the time when the wait was enqueued.
class event_pool {
 public:
  event_pool(context::context_handle const& context, unsigned flags) noexcept
      : context_(context), flags_(flags) {}

  /// Calls `use(event)` with an event of the pool. Returns the result of `use`, or the error if no
  /// event could be created.
  template <class Use>
  CUresult with(Use&& use) {
    CUevent event = nullptr;
    {
      std::lock_guard const lock{mutex_};
      if (!free_.empty()) {
        event = free_.back();
        free_.pop_back();
      }
    }
    if (event == nullptr) {
      if (CUresult const answer = create(event); answer != CUDA_SUCCESS) { return answer; }
    }
    CUresult const answer = use(event);
    std::lock_guard const lock{mutex_};
    free_.push_back(event);
    return answer;
  }

  void destroy() noexcept {
    for (CUevent const event : std::exchange(free_, {})) { context_.api().event_destroy(event); }
  }

 private:
  CUresult create(CUevent& event) {
    driver::table const& api = context_.api();
    // Another thread may have this context current at the same time, which CUDA allows. The push is
    // brief and happens only once per event.
    CUresult answer = api.ctx_push_current(context_.handle());
    if (answer != CUDA_SUCCESS) { return answer; }
    answer = api.event_create(&event, flags_);
    CUcontext popped = nullptr;
    api.ctx_pop_current(&popped);
    return answer;
  }

  context::context_handle const& context_;
  unsigned const flags_;
  std::mutex mutex_;
  std::vector<CUevent> free_;
};

}  // namespace flotilla::dispatch
