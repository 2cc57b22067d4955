// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The variants that use flotilla: tasks that are submitted one by one, and the replay of a
// recording.

#include <optional>

#include "flotilla_devices.hpp"
#include "variant.hpp"

namespace flotilla::bench {

namespace {

class submit_variant final : public variant {
 public:
  explicit submit_variant(flotilla_devices& devices) : devices_{devices} {}

  void prepare(task_graph const& graph) override {
    graph_ = &graph;
    devices_.fit(graph);
    tickets_.clear();
    tickets_.resize(2 * graph.points());
  }
  void clear() override { devices_.clear(); }
  void read(std::vector<std::uint64_t>& values) override { devices_.read(values); }

  void run() override {
    std::vector<task_graph::task> const& tasks = graph_->tasks();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      task_options options;
      options.device = devices_.device(i);
      for (std::uint32_t const each : graph_->predecessors(i)) {
        options.after.add(ticket_of(tasks[each]));
      }
      ticket_of(tasks[i]) = devices_.rt.submit(devices_.task(*graph_, i), options);
    }
    devices_.rt.wait_idle();
  }

 private:
  /// The tickets of two steps are kept, because predecessors are in the step before.
  ticket& ticket_of(task_graph::task const& task) {
    return tickets_[(task.step % 2) * graph_->points() + task.point];
  }

  flotilla_devices& devices_;
  task_graph const* graph_ = nullptr;
  std::vector<ticket> tickets_;
};

class recording_variant final : public variant {
 public:
  explicit recording_variant(flotilla_devices& devices) : devices_{devices} {}

  void prepare(task_graph const& graph) override {
    devices_.fit(graph);
    recording_.emplace(devices_.rt);
    std::vector<recorded_task> tasks;
    for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
      recorded_options options{.device = devices_.device(i)};
      for (std::uint32_t const each : graph.predecessors(i)) { options.after.add(tasks[each]); }
      tasks.push_back(recording_->add(devices_.task(graph, i), options));
    }
    recording_->finish();
  }
  void clear() override { devices_.clear(); }
  void read(std::vector<std::uint64_t>& values) override { devices_.read(values); }
  void run() override { recording_->replay().wait(); }

 private:
  flotilla_devices& devices_;
  std::optional<recording> recording_;
};

}  // namespace

std::unique_ptr<variant> make_submit_variant(flotilla_devices& devices) {
  return std::make_unique<submit_variant>(devices);
}

std::unique_ptr<variant> make_recording_variant(flotilla_devices& devices) {
  return std::make_unique<recording_variant>(devices);
}

}  // namespace flotilla::bench
