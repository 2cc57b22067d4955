// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A control: streams and events by hand. Point i is launched into stream i of its device. A task
// waits for the events of predecessors in other streams, on any device. An event is recorded only
// if another stream waits for it. With more than `max_streams` points, several points share a
// stream, and a task waits only for the latest predecessor in each stream.

#include <algorithm>
#include <array>

#include "driver/check.hpp"
#include "driver_devices.hpp"
#include "variant.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

constexpr std::size_t max_streams = 128;  // the number of kernels that a GPU runs at a time

class stream_variant final : public variant {
 public:
  explicit stream_variant(driver_devices& devices) : devices_{devices} {}

  ~stream_variant() override {
    for (unsigned i = 0; i < devices_.count(); ++i) {
      driver_devices::scope const current{devices_, i};
      for (CUevent const each : pools_[i].events) { devices_.api().event_destroy(each); }
      for (CUstream const each : pools_[i].streams) {
        if (each != nullptr) { devices_.api().stream_destroy(each); }
      }
    }
  }

  void prepare(task_graph const& graph) override {
    devices_.fit(graph);
    plan(graph);
  }
  void clear() override { devices_.clear(); }
  void read(std::vector<std::uint64_t>& values) override { devices_.read(values); }

  void run() override {
    driver_devices::scope current{devices_, 0};
    driver::table const& api = devices_.api();
    for (planned_task& each : tasks_) {
      current.change_to(each.call.device);
      for (std::size_t i = 0; i < each.waits; ++i) {
        check(api.stream_wait_event(each.stream, waits_[each.first_wait + i], 0),
              "cuStreamWaitEvent", control_subject);
      }
      // The driver ignores the mirror if the kernel has no such parameter.
      void* arguments[] = {&each.call.argument, &each.call.mirror};
      check(api.launch_kernel(each.call.kernel, 1, 1, 1, 32, 1, 1, 0, each.stream, arguments,
                              nullptr),
            "cuLaunchKernel", control_subject);
      if (each.event != nullptr) {
        check(api.event_record(each.event, each.stream), "cuEventRecord", control_subject);
      }
    }
    for (unsigned i = 0; i < devices_.count(); ++i) {
      current.change_to(i);
      check(api.ctx_synchronize(), "cuCtxSynchronize", control_subject);
    }
  }

 private:
  struct planned_task {
    driver_devices::call call;
    CUstream stream;
    CUevent event;  // recorded after the task, or null
    std::size_t first_wait;
    std::size_t waits;
  };
  /// The streams and events of one device, which are kept for later graphs.
  struct pool {
    std::vector<CUstream> streams;  // element i belongs to the points i, i + max_streams, ...
    std::vector<CUevent> events;
    std::size_t used_events = 0;  // by the current graph
  };

  /// Returns the stream of a point. Creates streams as needed.
  CUstream stream_of(unsigned device, std::uint32_t point) {
    std::vector<CUstream>& streams = pools_[device].streams;
    streams.resize(max_streams);
    CUstream& stream = streams[point % max_streams];
    if (stream == nullptr) {
      driver_devices::scope const current{devices_, device};
      check(devices_.api().stream_create(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
            control_subject);
    }
    return stream;
  }

  /// Returns an event that no task of the current graph uses. Creates events as needed.
  CUevent next_event(unsigned device) {
    pool& from = pools_[device];
    if (from.events.size() == from.used_events) {
      driver_devices::scope const current{devices_, device};
      CUevent created = nullptr;
      check(devices_.api().event_create(&created, CU_EVENT_DISABLE_TIMING), "cuEventCreate",
            control_subject);
      from.events.push_back(created);
    }
    return from.events[from.used_events++];
  }

  void plan(task_graph const& graph) {
    tasks_.clear();
    waits_.clear();
    for (pool& each : pools_) { each.used_events = 0; }
    for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
      driver_devices::call const call = devices_.task(graph, i);
      planned_task next{.call = call,
                        .stream = stream_of(call.device, graph.tasks()[i].point),
                        .event = nullptr,
                        .first_wait = waits_.size(),
                        .waits = 0};
      std::vector<CUstream> seen{next.stream};
      auto const predecessors = graph.predecessors(i);
      // In reverse, because tasks of one stream run in order: only the latest one matters.
      for (auto each = predecessors.rbegin(); each != predecessors.rend(); ++each) {
        planned_task& before = tasks_[*each];
        if (std::find(seen.begin(), seen.end(), before.stream) != seen.end()) { continue; }
        seen.push_back(before.stream);
        if (before.event == nullptr) { before.event = next_event(before.call.device); }
        waits_.push_back(before.event);
      }
      next.waits = waits_.size() - next.first_wait;
      tasks_.push_back(next);
    }
  }

  driver_devices& devices_;
  std::array<pool, max_devices> pools_;
  std::vector<planned_task> tasks_;
  std::vector<CUevent> waits_;  // the waits of all tasks
};

}  // namespace

std::unique_ptr<variant> make_stream_variant(driver_devices& devices) {
  return std::make_unique<stream_variant>(devices);
}

}  // namespace flotilla::bench
