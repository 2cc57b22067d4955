// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/context/context.hpp"

#include <utility>

#include "cpu_driver/base/environment.hpp"
#include "cpu_driver/context/destroyed_contexts.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/context/green_context.hpp"
#include "cpu_driver/memory/memory_map.hpp"
#include "cpu_driver/stream/event.hpp"

namespace flotilla::cpu_driver {

CUcontext context::create(device& home, unsigned flags, context_kind kind) {
  home.thread().start();
  // A device has at most one primary context at a time, and all its primary contexts have the same
  // handle. A thread on which a destroyed primary context is still current therefore uses the next
  // primary context as soon as the next one exists. A GPU's driver behaves the same way.
  static_assert(max_devices <= handles::standing_handles);
  return kind == context_kind::primary
             ? table()
                   .open_standing(static_cast<std::size_t>(home.ordinal()), home, flags, kind)
                   ->self()
             : table().open(home, flags, kind)->self();
}

bool context::destroy(CUcontext handle) {
  auto const ended = table().find(handle);
  // Close the handle before anything else. If two threads destroy the context, close() succeeds in
  // only one of them. From then on, other calls no longer find the context.
  if (!ended || !table().close(handle)) { return false; }
  destroyed_contexts::add(handle, {ended->home().ordinal(), ended->resources().flags.get()});
  ended->tear_down();
  return true;
}

unsigned long long next_context_id() noexcept {
  static std::atomic<unsigned long long> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

context::context(CUcontext self, device& home, unsigned flags, context_kind kind)
    : home_(home),
      kind_(kind),
      id_(next_context_id()),
      resources_(self, home.thread(), home.memory(), flags),
      streams_(resources_, nullptr, all_multiprocessors()) {}

bool context::detach_but_last() noexcept {
  int now = usage_.load(std::memory_order_relaxed);
  do {
    if (now <= 1) { return false; }
    // relaxed, as in attach(): this decrement never ends the context
  } while (!usage_.compare_exchange_weak(now, now - 1, std::memory_order_relaxed));
  return true;
}

void context::add_part(CUcontext green) {
  std::lock_guard const lock(mutex_);
  parts_.insert(green);
}

void context::remove_part(CUcontext green) noexcept {
  std::lock_guard const lock(mutex_);
  parts_.erase(green);
}

int context::end_parts() {
  std::unordered_set<CUcontext> parts;
  {
    std::lock_guard const lock(mutex_);
    parts.swap(parts_);
  }
  int ended = 0;
  for (CUcontext const each : parts) { ended += green_context::end(each) ? 1 : 0; }
  return ended;
}

context::all_streams context::streams_of_all() {
  all_streams found{{}, {&streams_}};
  std::unordered_set<CUcontext> parts;
  {
    std::lock_guard const lock(mutex_);
    parts = parts_;
  }
  for (CUcontext const each : parts) {
    auto part = green_context::table().find(each);
    if (!part) { continue; }
    found.groups.push_back(&part->streams());
    found.kept.push_back(std::make_shared<decltype(part)>(std::move(part)));
  }
  return found;
}

void context::synchronize() {
  stream_group::synchronize(streams_of_all().groups, resources_.flags.spin());
}

std::shared_ptr<event_record> context::record(bool timed) {
  return stream_group::record(streams_of_all().groups, timed);
}

void context::wait_for(std::shared_ptr<event_record> const& record) {
  for (stream_group* const each : streams_of_all().groups) { each->wait_for(record); }
}

void context::tear_down() {
  static_cast<void>(streams_.tear_down(resources_.flags.spin()));
  events_.close_all();
  modules_.close_all();
  home_.thread().destroy_released();
  memory_map::of_process().free_all(self());
  resources_.fifo.flush();
}

}  // namespace flotilla::cpu_driver
