#include "cpu_driver/graph_exec.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "cpu_driver/driver_state.hpp"
#include "cpu_driver/graph_run.hpp"
#include "cpu_driver/stream.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr auto nowhere = std::numeric_limits<std::uint32_t>::max();

/// What may be switched off: the kinds that the real driver allows and we have.
bool can_be_disabled(node_work const& work) noexcept {
  return std::holds_alternative<kernel_work>(work);
}

}  // namespace

executable_graph::executable_graph(CUgraph source, unsigned long long flags,
                                   std::vector<planned_node> steps)
    : source_(source), flags_(flags) {
  steps_.reserve(steps.size());
  versions_.assign(steps.size(), version_);
  for (planned_node& each : steps) {
    if (each.index >= position_of_.size()) { position_of_.resize(each.index + 1, nowhere); }
    position_of_[each.index] = static_cast<std::uint32_t>(steps_.size());
    if (auto const* const kernel = std::get_if<kernel_work>(&each.work)) {
      if (std::find(contexts_.begin(), contexts_.end(), kernel->owner) == contexts_.end()) {
        contexts_.push_back(kernel->owner);
      }
    }
    steps_.push_back(
        {.enabled = true, .after = std::move(each.after), .work = std::move(each.work)});
  }
}

executable_graph::~executable_graph() = default;

bool executable_graph::find(CUgraphNode which, std::size_t& position) const {
  auto const place = driver_state::get().graph_nodes().find(which);
  if (!place || place->of != source_ || place->index >= position_of_.size() ||
      position_of_[place->index] == nowhere) {
    return false;
  }
  position = position_of_[place->index];
  return true;
}

void executable_graph::changed(std::size_t position) noexcept { versions_[position] = ++version_; }

CUresult executable_graph::enable(CUgraphNode which, bool enabled) {
  std::size_t position = 0;
  if (!find(which, position)) { return CUDA_ERROR_INVALID_VALUE; }
  std::lock_guard const lock(mutex_);
  step& found = steps_[position];
  if (!can_be_disabled(found.work)) { return CUDA_ERROR_INVALID_VALUE; }
  if (std::exchange(found.enabled, enabled) != enabled) { changed(position); }
  return CUDA_SUCCESS;
}

CUresult executable_graph::is_enabled(CUgraphNode which, bool& enabled) const {
  std::size_t position = 0;
  if (!find(which, position)) { return CUDA_ERROR_INVALID_VALUE; }
  std::lock_guard const lock(mutex_);
  if (!can_be_disabled(steps_[position].work)) { return CUDA_ERROR_INVALID_VALUE; }
  enabled = steps_[position].enabled;
  return CUDA_SUCCESS;
}

CUresult executable_graph::launch(std::shared_ptr<executable_graph> const& self, stream& where) {
  // Held until the launch is in its stream: launches are numbered in the order of their streams.
  std::lock_guard const lock(mutex_);
  graph_run& run = take_run();
  operation* made = nullptr;
  try {
    CUresult const status = fill(run, where);
    if (status != CUDA_SUCCESS) {
      give_unused(run);
      return status;
    }
    made = take_operation();
  } catch (...) {
    give_unused(run);
    throw;
  }
  // From here on nothing fails. Events: in the order of the steps, so that a wait finds the record
  // of a step before it.
  for (graph_run::step& each : run.steps_) {
    if (auto* const record = std::get_if<record_work>(&each.work)) {
      if (auto const what = driver_state::get().events().find(record->what)) {
        what->set_latest(record->made);
      }
    } else if (auto* const wait = std::get_if<wait_work>(&each.work)) {
      if (auto const what = driver_state::get().events().find(wait->what)) {
        wait->awaited = what->latest();
      }
    }
  }
  run.number_ = ++launches_;
  run.of_ = self;
  made->what.emplace<run_graph>(&run);
  where.push(made);
  return CUDA_SUCCESS;
}

graph_run& executable_graph::take_run() {
  // acquire: pairs with the release in finish()
  if (free_ == nullptr) { free_ = returned_.exchange(nullptr, std::memory_order_acquire); }
  if (free_ != nullptr) {
    graph_run& taken = *free_;
    free_ = std::exchange(taken.next_free_, nullptr);
    return taken;
  }
  runs_.push_back(std::make_unique<graph_run>(steps_.size()));
  return *runs_.back();
}

CUresult executable_graph::fill(graph_run& run, stream const& where) {
  auto& state = driver_state::get();
  for (CUcontext const each : contexts_) {
    if (each == where.owner().self()) { continue; }
    auto found = state.contexts().find(each);
    if (!found) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; }
    run.others_.push_back(std::move(found));
  }
  if (run.version_ != version_) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (run.versions_[i] == versions_[i]) { continue; }
      run.steps_[i].work = steps_[i].work;
      run.kinds_[i] = !steps_[i].enabled || std::holds_alternative<empty_work>(steps_[i].work)
                          ? graph_run::step_kind::skip
                      : std::holds_alternative<kernel_work>(steps_[i].work)
                          ? graph_run::step_kind::kernel
                          : graph_run::step_kind::other;
      run.versions_[i] = versions_[i];  // only now: the copy may have failed
    }
    run.version_ = version_;
  }
  for (graph_run::step& each : run.steps_) {
    if (auto* const record = std::get_if<record_work>(&each.work)) {
      auto const what = state.events().find(record->what);
      if (!what) { return CUDA_ERROR_INVALID_HANDLE; }
      record->made = std::make_shared<occurrence>(what->timed());
    }
  }
  return CUDA_SUCCESS;
}

void executable_graph::give_unused(graph_run& run) noexcept {
  run.others_.clear();
  run.next_free_ = std::exchange(free_, &run);
}

bool executable_graph::turn_of(std::uint64_t number) noexcept {
  auto const come = [&] {
    return finished_.load(std::memory_order_seq_cst) + 1 >= number;
  };
  if (come()) { return true; }
  // Announced and asked again: finish() counts first and looks then, so that one of the two sees
  // the other.
  watched_.store(true, std::memory_order_seq_cst);
  return come();
}

void executable_graph::finish(graph_run& run) noexcept {
  graph_run* head = returned_.load(std::memory_order_relaxed);
  do {
    run.next_free_ = head;
    // release: pairs with the acquire in take_run()
  } while (!returned_.compare_exchange_weak(head, &run, std::memory_order_release,
                                            std::memory_order_relaxed));
  finished_.fetch_add(1, std::memory_order_seq_cst);
  if (watched_.load(std::memory_order_seq_cst)) {
    watched_.store(false, std::memory_order_relaxed);
    driver_state::get().nudge_devices();
  }
}

}  // namespace flotilla::cpu_driver
