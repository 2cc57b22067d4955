#include "cpu_driver/stream_group.hpp"

#include <utility>

#include "cpu_driver/driver_state.hpp"

namespace flotilla::cpu_driver {
namespace {

/// Streams that have work, each kept alive; NULL streams, which belong to their group, as they are.
struct busy_streams {
  std::vector<driver_state::stream_table::ref> kept;
  std::vector<stream*> all;

  void add(stream_group& group, std::vector<CUstream> const& handles) {
    for (CUstream const handle : handles) {
      auto found = driver_state::get().streams().find(handle);
      if (!found || found->idle()) { continue; }
      all.push_back(found.get());
      kept.push_back(std::move(found));
    }
    if (!group.legacy().idle()) { all.push_back(&group.legacy()); }
  }
};

}  // namespace

CUstream stream_group::create(stream_kind kind, int priority) {
  auto const made = driver_state::get().streams().open(*this, kind, priority);
  std::vector<std::shared_ptr<occurrence>> awaited;
  {
    std::lock_guard const lock(mutex_);
    streams_.insert(made->self());
    std::erase_if(awaited_, [](auto const& each) { return each->passed(); });
    awaited = awaited_;
  }
  for (auto& each : awaited) { made->enqueue(wait_event{std::move(each)}); }
  return made->self();
}

bool stream_group::destroy(CUstream which) {
  {
    std::lock_guard const lock(mutex_);
    streams_.erase(which);
  }
  return driver_state::get().streams().close(which);
}

std::vector<CUstream> stream_group::handles() const {
  std::lock_guard const lock(mutex_);
  return {streams_.begin(), streams_.end()};
}

void stream_group::synchronize(std::vector<stream_group*> const& groups, wait_policy patience) {
  busy_streams busy;
  for (stream_group* const each : groups) { busy.add(*each, each->handles()); }
  latch reached;
  // Counted before each enqueue, so that the latch cannot open in between; and waited for whatever
  // happens, since enqueued operations point to it.
  try {
    for (stream* const each : busy.all) {
      reached.add();
      each->enqueue(reach_latch{&reached});
    }
  } catch (...) {
    reached.count_down();
    reached.wait(patience);
    throw;
  }
  reached.wait(patience);
}

std::shared_ptr<occurrence> stream_group::record(std::vector<stream_group*> const& groups,
                                                 bool timed) {
  busy_streams busy;
  for (stream_group* const each : groups) { busy.add(*each, each->handles()); }
  if (busy.all.empty()) { busy.all.push_back(&groups.front()->legacy()); }
  auto made = std::make_shared<occurrence>(timed, static_cast<int>(busy.all.size()));
  std::size_t recorded = 0;
  try {
    for (; recorded < busy.all.size(); ++recorded) {
      busy.all[recorded]->enqueue(record_event{made});
    }
  } catch (...) {
    // Whoever waits for it already must not wait for ever.
    for (; recorded < busy.all.size(); ++recorded) { made->drop(); }
    throw;
  }
  return made;
}

void stream_group::wait_for(std::shared_ptr<occurrence> const& awaited) {
  if (awaited->passed()) { return; }
  std::vector<CUstream> there;
  {
    // Under one lock: a stream that comes meanwhile is either here or finds it in the list.
    std::lock_guard const lock(mutex_);
    std::erase_if(awaited_, [](auto const& each) { return each->passed(); });
    awaited_.push_back(awaited);
    there.assign(streams_.begin(), streams_.end());
  }
  for (CUstream const handle : there) {
    auto const found = driver_state::get().streams().find(handle);
    if (found) { found->enqueue(wait_event{awaited}); }
  }
  legacy_.enqueue(wait_event{awaited});
}

bool stream_group::legacy_idle() {
  if (!legacy_.idle()) { return false; }
  for (CUstream const handle : handles()) {
    auto const found = driver_state::get().streams().find(handle);
    if (found && found->kind() == stream_kind::blocking && !found->idle()) { return false; }
  }
  return true;
}

std::vector<CUstream> stream_group::tear_down(wait_policy patience) {
  // Each stream ends behind its own work, so waiting for the ends is waiting for the work.
  std::vector<CUstream> left = handles();
  for (CUstream const each : left) { static_cast<void>(destroy(each)); }
  legacy_.retire();
  closing_.wait(patience);
  return left;
}

}  // namespace flotilla::cpu_driver
