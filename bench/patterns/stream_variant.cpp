// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A control: streams and events by hand. Point i is launched into stream i. A task waits for the
// events of predecessors in other streams. An event is recorded only if another stream waits for
// it. With more than `max_streams` points, several points share a stream, and a task waits only for
// the latest predecessor in each stream.

#include <algorithm>

#include "driver/check.hpp"
#include "driver_device.hpp"
#include "variant.hpp"

namespace flotilla::bench {

namespace {

using driver::check;

constexpr std::uint32_t max_streams = 128;  // the number of kernels that a GPU runs at a time

class stream_variant final : public variant {
 public:
  explicit stream_variant(driver_device& device) : device_{device} {}

  ~stream_variant() override {
    driver_device::scope const current{device_};
    for (CUevent const each : events_) { device_.api().event_destroy(each); }
    for (CUstream const each : streams_) { device_.api().stream_destroy(each); }
  }

  void prepare(task_graph const& graph) override {
    device_.fit(graph);
    driver_device::scope const current{device_};
    while (streams_.size() < std::min(graph.points(), max_streams)) {
      CUstream created = nullptr;
      check(device_.api().stream_create(&created, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
            control_subject);
      streams_.push_back(created);
    }
    plan(graph);
  }
  void clear() override { device_.clear(); }
  void read(std::vector<std::uint64_t>& values) override { device_.read(values); }

  void run() override {
    driver_device::scope const current{device_};
    driver::table const& api = device_.api();
    for (planned_task& each : tasks_) {
      for (std::size_t i = 0; i < each.waits; ++i) {
        check(api.stream_wait_event(each.stream, waits_[each.first_wait + i], 0),
              "cuStreamWaitEvent", control_subject);
      }
      void* arguments[] = {&each.argument};
      check(api.launch_kernel(device_.kernel(), 1, 1, 1, 32, 1, 1, 0, each.stream, arguments,
                              nullptr),
            "cuLaunchKernel", control_subject);
      if (each.event != nullptr) {
        check(api.event_record(each.event, each.stream), "cuEventRecord", control_subject);
      }
    }
    check(api.ctx_synchronize(), "cuCtxSynchronize", control_subject);
  }

 private:
  struct planned_task {
    CUstream stream;
    CUevent event;  // recorded after the task, or null
    std::size_t first_wait;
    std::size_t waits;
    pattern_argument argument;
  };

  CUstream stream_of(task_graph::task const& task) const {
    return streams_[task.point % std::min<std::size_t>(streams_.size(), max_streams)];
  }

  /// Returns the event with this index. Creates events as needed.
  CUevent event(std::size_t index) {
    while (events_.size() <= index) {
      CUevent created = nullptr;
      check(device_.api().event_create(&created, CU_EVENT_DISABLE_TIMING), "cuEventCreate",
            control_subject);
      events_.push_back(created);
    }
    return events_[index];
  }

  void plan(task_graph const& graph) {
    tasks_.clear();
    waits_.clear();
    std::size_t events = 0;
    for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
      planned_task next{.stream = stream_of(graph.tasks()[i]),
                        .event = nullptr,
                        .first_wait = waits_.size(),
                        .waits = 0,
                        .argument = device_.argument(graph, i)};
      std::vector<CUstream> seen{next.stream};
      auto const predecessors = graph.predecessors(i);
      // In reverse, because tasks of one stream run in order: only the latest one matters.
      for (auto each = predecessors.rbegin(); each != predecessors.rend(); ++each) {
        planned_task& before = tasks_[*each];
        if (std::find(seen.begin(), seen.end(), before.stream) != seen.end()) { continue; }
        seen.push_back(before.stream);
        if (before.event == nullptr) { before.event = event(events++); }
        waits_.push_back(before.event);
      }
      next.waits = waits_.size() - next.first_wait;
      tasks_.push_back(next);
    }
  }

  driver_device& device_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
  std::vector<planned_task> tasks_;
  std::vector<CUevent> waits_;  // the waits of all tasks
};

}  // namespace

std::unique_ptr<variant> make_stream_variant(driver_device& device) {
  return std::make_unique<stream_variant>(device);
}

}  // namespace flotilla::bench
