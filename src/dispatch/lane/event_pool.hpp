#pragma once
// Events of one context, to be used and given back at once.

#include <cuda.h>

#include <mutex>
#include <utility>
#include <vector>

#include "context/floating_context.hpp"

namespace flotilla::dispatch {

/// Any thread. An event may be recorded anew as soon as everything that waits for it has been told to: a
/// stream's wait is for the record that was last when it was asked.
class event_pool {
 public:
  event_pool(context::floating_context const& context, unsigned flags) noexcept
      : context_(context), flags_(flags) {}

  /// Has `use(event)` use an event. Creating one needs the context current; then this makes it so.
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
      if (CUresult const made = create(event); made != CUDA_SUCCESS) { return made; }
    }
    CUresult const answer = use(event);
    std::lock_guard const lock{mutex_};
    free_.push_back(event);
    return answer;
  }

  void destroy() noexcept {
    for (CUevent const each : std::exchange(free_, {})) { context_.api().event_destroy(each); }
  }

 private:
  CUresult create(CUevent& event) {
    driver::table const& api = context_.api();
    // A push of a context that another thread drives: allowed, brief, and once an event.
    if (CUresult const pushed = api.ctx_push_current(context_.handle()); pushed != CUDA_SUCCESS) { return pushed; }
    CUresult const made = api.event_create(&event, flags_);
    CUcontext popped = nullptr;
    api.ctx_pop_current(&popped);
    return made;
  }

  context::floating_context const& context_;
  unsigned flags_;
  std::mutex mutex_;
  std::vector<CUevent> free_;
};

}  // namespace flotilla::dispatch
