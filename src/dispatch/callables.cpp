// Runs user code with a device's context current.
#include <memory>

#include <flotilla/error.hpp>
#include <flotilla/work.hpp>

#include "base/tbb_bridge.hpp"
#include "context/guest_stack.hpp"
#include "dispatch/core.hpp"
#include "dispatch/device_queue.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

thread_local callable_frame const* innermost_frame = nullptr;

}  // namespace

callable_frame const* callable_frame::innermost(core const& of) noexcept {
  for (callable_frame const* each = innermost_frame; each != nullptr; each = each->outer) {
    if (each->of == &of) { return each; }
  }
  return nullptr;
}

bool device_queue::run_work(slot_address address, std::vector<end_mark> const& waits) {
  slot& of = owner.at(address);
  lane_range const lanes = lane_plan::works_of(of.level);
  lane* on = driving_.lanes[lanes.first].get();
  for (unsigned i = 1; i < lanes.count; ++i) {
    lane& other = *driving_.lanes[lanes.first + i];
    if (other.in_flight() < on->in_flight()) { on = &other; }
  }
  if (!on->room()) {
    driving_.works.of(of.level).push_front(address);
    return false;
  }
  if (!put_behind(waits, *on, address)) { return true; }
  // Its place in the lane is taken before it runs: it may drain other devices, never this one.
  lane::batch& batch = on->begin();
  callable_frame const frame{&owner, this, innermost_frame};
  innermost_frame = &frame;
  std::exception_ptr thrown;
  std::string mischief;
  {
    context::guest_stack guest{context};
    struct call { work& what; task_context with; std::exception_ptr& thrown; };
    call now{held_in<work>(of), task_context{info, context.handle(), on->stream()}, thrown};
    // Isolated: a wait of oneTBB in user code must not run another task of ours on this thread.
    base::isolated(
      [](void* argument) {
        call& what = *static_cast<call*>(argument);
        try {
          what.what(what.with);
        } catch (...) {
          what.thrown = std::current_exception();
        }
      },
      &now);
    of.holds_work = false;
    std::destroy_at(&held_in<work>(of));  // user code too: before the stack is looked at
    mischief = guest.mend();
  }
  innermost_frame = frame.outer;
  CUstreamCaptureStatus capture{};
  CUresult const asked = context.api().stream_is_capturing(on->stream(), &capture);
  if (asked == CUDA_SUCCESS && capture != CU_STREAM_CAPTURE_STATUS_NONE) {
    CUgraph left = nullptr;
    context.api().stream_end_capture(on->stream(), &left);
    mischief += (mischief.empty() ? "" : "; ") + std::string{"it left its stream capturing"};
  }
  bump(callables_);
  if (thrown == nullptr && !mischief.empty()) {
    thrown = std::make_exception_ptr(error(describe(address) + ": " + mischief + "; this was mended"));
  }
  if (thrown != nullptr) {
    // It ends when its stream has passed what it enqueued before it threw, and not before: that may
    // still use memory that is freed behind it. Until then nobody sees a mark.
    driving_.outcomes.emplace(address, failure_of(thrown));
    batch.tasks[batch.count++] = address;
    finish(*on);
  } else {
    launched(address, *on, batch);
  }
  return true;
}

}  // namespace flotilla::dispatch
