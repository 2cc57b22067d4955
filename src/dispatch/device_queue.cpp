#include "dispatch/device_queue.hpp"

#include <algorithm>

#include "dispatch/core.hpp"
#include "dispatch/graph_memory.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

device_queue::device_queue(core& owner_core, unsigned number, std::shared_ptr<driver::table const> api,
                           device const& where, context::request const& asked, std::size_t window)
    : owner(owner_core), index(number), info(where), context(std::move(api), where, asked), gate(context),
      pool(number, window),
      lanes_(std::min(asked.settings.lanes.value_or(lane_plan::launch_lanes), lane_plan::launch_lanes)),
      blocking_events_(context, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC), staging_(*this),
      templates_(context), records_(context), updated_(context, records_), probe_(context) {
  context::lease held = gate.take();
  context::current_scope const scope{held};
  try {
    page = std::make_unique<completion_page>(context, lane_plan::all_lanes);
    for (unsigned i = 0; i < lane_plan::all_lanes; ++i) {
      driving_.lanes.push_back(std::make_unique<lane>(context, *page, i));
      if (i >= lane_plan::of_urgent) { continue; }  // when they are needed: few programs have tasks of all levels
      driver::check(driving_.lanes.back()->open(priority_of(0)), "cuStreamCreateWithPriority", context.subject());
    }
    for (unsigned level = 0; level < urgencies; ++level) {
      driving_.filling[level] = lane_plan::launches_of(static_cast<urgency>(level)).first;
    }
    driver::check(context.api().stream_create(&memory_stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
                  context.subject());
    own_kernels_.create(context);
    own_functions const& own = own_kernels_.functions();
    if (own.marker != nullptr && info.kind == device_kind::gpu) { reserve_graph_memory(context, own.marker, memory_stream_); }
    templates_.use(own.root, own.awaiter);
    updated_.use(own.updater);
    if (updated_.usable()) { records_.begin(); }
  } catch (...) {
    destroy_resources();
    throw;
  }
}

device_queue::~device_queue() = default;

void device_queue::destroy_resources() noexcept {
  staging_.destroy();
  templates_.destroy();
  updated_.destroy();
  owner.parts.destroy_all_of(index);
  records_.destroy();
  own_kernels_.destroy(context);
  probe_.destroy();
  blocking_events_.destroy();
  for (auto const& each : driving_.lanes) { each->destroy(); }
  if (memory_stream_ != nullptr) { context.api().stream_destroy(std::exchange(memory_stream_, nullptr)); }
  if (page != nullptr) { page->unregister(); }
}

CUresult device_queue::sleep_until_done(unsigned lane) {
  return blocking_events_.with([&](CUevent event) {
    CUresult const recorded = context.api().event_record(event, driving_.lanes[lane]->stream());
    return recorded != CUDA_SUCCESS ? recorded : context.api().event_synchronize(event);
  });
}

device_queue::verdict device_queue::ask_streams() noexcept {
  constexpr int patience = 8;
  for (auto const& each : driving_.lanes) { each->ask(); }
  // One stream speaks for all: a fault is the whole context's. Not a callable's, which may be capturing: a
  // query would break the capture.
  CUresult const answer = context.api().stream_query(driving_.lanes[lane_plan::up_lane]->stream());
  if (answer == CUDA_SUCCESS || answer == CUDA_ERROR_NOT_READY) {
    troubled_.store(0, std::memory_order_relaxed);
    return {CUDA_SUCCESS, false};
  }
  // A stream that answers with trouble every time will never be done: its context is gone, or worse.
  int const times = troubled_.fetch_add(1, std::memory_order_relaxed) + 1;
  return {answer, is_sticky(driver::status_of(answer)) || times >= patience};
}

device_counters device_queue::counters() const noexcept {
  device_counters made;
  made.tasks = tasks_.load(std::memory_order_relaxed);
  made.failed = failed_.load(std::memory_order_relaxed);
  made.batches = batches_.load(std::memory_order_relaxed);
  made.pushes = gate.pushes();
  made.migrations = gate.migrations();
  made.callables = callables_.load(std::memory_order_relaxed);
  made.pulled = pulled_.load(std::memory_order_relaxed);
  return made;
}

}  // namespace flotilla::dispatch
