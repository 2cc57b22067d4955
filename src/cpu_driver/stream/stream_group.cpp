// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/stream/stream_group.hpp"

#include <utility>

namespace flotilla::cpu_driver {
namespace {

/// Collects the streams that have pending operations. The references in `kept` keep these streams
/// alive. NULL streams are not in `kept`, because they live as long as their group.
struct busy_streams {
  std::vector<stream::ref> kept;
  std::vector<stream*> all;

  void add(stream_group& group, std::vector<CUstream> const& handles) {
    for (CUstream const handle : handles) {
      auto found = stream::table().find(handle);
      if (!found || found->idle()) { continue; }
      all.push_back(found.get());
      kept.push_back(std::move(found));
    }
    if (!group.legacy().idle()) { all.push_back(&group.legacy()); }
  }
};

}  // namespace

CUstream stream_group::create(stream_kind kind, int priority) {
  stream::ref made;
  try {
    std::vector<std::shared_ptr<event_record>> awaited;
    {
      // Create the stream under the lock. Then either tear_down() finds the stream and waits for
      // its end, or the stream is not created.
      std::lock_guard const lock(mutex_);
      if (ended_) { return nullptr; }
      made = stream::table().open(*this, kind, priority);
      streams_.insert(made->self());
      std::erase_if(awaited_, [](auto const& each) { return each->completed(); });
      awaited = awaited_;
    }
    for (auto& each : awaited) { made->enqueue(wait_event{std::move(each)}); }
  } catch (...) {
    // The caller gets no handle, so destroy the stream here. tear_down() destroys only streams in
    // `streams_`, and would wait forever for a stream that is not there.
    if (made) { static_cast<void>(destroy(made->self())); }
    throw;
  }
  return made->self();
}

bool stream_group::destroy(CUstream handle) {
  {
    std::lock_guard const lock(mutex_);
    streams_.erase(handle);
  }
  return stream::table().close(handle);
}

std::vector<CUstream> stream_group::open_handles() const {
  std::lock_guard const lock(mutex_);
  return {streams_.begin(), streams_.end()};
}

void stream_group::synchronize(std::vector<stream_group*> const& groups, spin_times times) {
  busy_streams busy;
  for (stream_group* const each : groups) { busy.add(*each, each->open_handles()); }
  latch reached;
  // Count up before each enqueue. Otherwise the latch could open before all operations are
  // enqueued. If an enqueue throws, wait for the operations that were enqueued, because they point
  // to the latch.
  try {
    for (stream* const each : busy.all) {
      reached.add();
      each->enqueue(reach_latch{&reached});
    }
  } catch (...) {
    reached.count_down();
    reached.wait(times);
    throw;
  }
  reached.wait(times);
}

std::shared_ptr<event_record> stream_group::record(std::vector<stream_group*> const& groups,
                                                   bool timed) {
  busy_streams busy;
  for (stream_group* const each : groups) { busy.add(*each, each->open_handles()); }
  if (busy.all.empty()) { busy.all.push_back(&groups.front()->legacy()); }
  auto made = std::make_shared<event_record>(timed, static_cast<int>(busy.all.size()));
  std::size_t recorded = 0;
  try {
    for (; recorded < busy.all.size(); ++recorded) {
      busy.all[recorded]->enqueue(record_event{made});
    }
  } catch (...) {
    // The record waits for all streams in `busy`. Some of them did not get the operation. Abandon
    // the record for these streams, so that the record can complete.
    for (; recorded < busy.all.size(); ++recorded) { made->abandon(); }
    throw;
  }
  return made;
}

void stream_group::wait_for(std::shared_ptr<event_record> const& record) {
  if (record->completed()) { return; }
  std::vector<CUstream> present;
  {
    // Add to `awaited_` and read `streams_` under one lock. So create() either adds its stream
    // before this block, or finds the record in `awaited_` after this block.
    std::lock_guard const lock(mutex_);
    std::erase_if(awaited_, [](auto const& each) { return each->completed(); });
    awaited_.push_back(record);
    present.assign(streams_.begin(), streams_.end());
  }
  for (CUstream const handle : present) {
    auto const found = stream::table().find(handle);
    if (found) { found->enqueue(wait_event{record}); }
  }
  legacy_.enqueue(wait_event{record});
}

bool stream_group::legacy_idle() {
  if (!legacy_.idle()) { return false; }
  for (CUstream const handle : open_handles()) {
    auto const found = stream::table().find(handle);
    if (found && found->kind() == stream_kind::blocking && !found->idle()) { return false; }
  }
  return true;
}

std::vector<CUstream> stream_group::tear_down(spin_times times) {
  {
    std::lock_guard const lock(mutex_);
    ended_ = true;
  }
  // Each stream ends after its last operation. So when all streams have ended, all operations have
  // ended too.
  std::vector<CUstream> left = open_handles();
  for (CUstream const each : left) { static_cast<void>(destroy(each)); }
  legacy_.retire();
  open_streams_.wait(times);
  return left;
}

}  // namespace flotilla::cpu_driver
