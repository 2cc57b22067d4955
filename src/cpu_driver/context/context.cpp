#include "cpu_driver/context.hpp"

#include <utility>
#include <vector>

#include "cpu_driver/corpses.hpp"
#include "cpu_driver/device.hpp"
#include "cpu_driver/driver_state.hpp"
#include "cpu_driver/green_context.hpp"

namespace flotilla::cpu_driver {
namespace {

using namespace std::chrono_literals;

constexpr unsigned known_flags = CU_CTX_SCHED_MASK | CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX |
                                 CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE |
                                 CU_CTX_SYNC_MEMOPS;

}  // namespace

CUcontext context::create(device& home, unsigned flags, context_kind kind) {
  home.queue().start();
  auto& contexts = driver_state::get().contexts();
  // A device's primary contexts all have the same handle: what is current comes to life again when
  // a new one is retained, as on a real driver.
  static_assert(driver_state::max_devices <= driver_state::context_table::standing_handles);
  return kind == context_kind::primary
             ? contexts.open_standing(static_cast<std::size_t>(home.ordinal()), home, flags, kind)
                   ->self()
             : contexts.open(home, flags, kind)->self();
}

bool context::destroy(CUcontext handle) {
  auto& contexts = driver_state::get().contexts();
  auto const ended = contexts.find(handle);
  // Closed first: of two threads that destroy, one goes on, and no call enters it any more.
  if (!ended || !contexts.close(handle)) { return false; }
  corpses::add(handle, {ended->home().ordinal(), ended->flags()});
  ended->tear_down();
  return true;
}

bool context::valid_flags(unsigned flags) noexcept {
  unsigned const schedule = flags & CU_CTX_SCHED_MASK;
  bool const one_schedule = (schedule & (schedule - 1)) == 0;  // at most one bit
  return (flags & ~known_flags) == 0 && one_schedule;
}

void context::set_flags(unsigned flags) noexcept {
  constexpr unsigned fixed = CU_CTX_MAP_HOST;
  unsigned now = flags_.load(std::memory_order_relaxed);  // a number by itself; orders nothing
  while (!flags_.compare_exchange_weak(now, (now & fixed) | (flags & ~fixed),
                                       std::memory_order_relaxed)) {}
}

unsigned long long context::next_id() noexcept {
  static std::atomic<unsigned long long> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

context::context(CUcontext self, device& home, unsigned flags, context_kind kind)
    : self_(self),
      home_(home),
      kind_(kind),
      id_(next_id()),
      flags_(flags),
      streams_(*this, nullptr, all_multiprocessors()) {}

bool context::detach_but_last() noexcept {
  int now = usage_.load(std::memory_order_relaxed);
  do {
    if (now <= 1) { return false; }
    // relaxed, as attach() is: nothing ends by it
  } while (!usage_.compare_exchange_weak(now, now - 1, std::memory_order_relaxed));
  return true;
}

wait_policy context::patience() const noexcept {
  // Bounded also where the flag says to spin: a CPU device needs a core to make progress.
  switch (flags() & CU_CTX_SCHED_MASK) {
    case CU_CTX_SCHED_SPIN: return {.spin = 500us, .yield = 0us};
    case CU_CTX_SCHED_YIELD: return {.spin = 5us, .yield = 1000us};
    case CU_CTX_SCHED_BLOCKING_SYNC: return {.spin = 0us, .yield = 0us};
    default: return {.spin = 20us, .yield = 50us};
  }
}

CUevent context::create_event(unsigned flags) {
  auto const made = driver_state::get().events().open(self_, flags);
  std::lock_guard const lock(mutex_);
  events_.insert(made->self());
  return made->self();
}

bool context::destroy_event(CUevent which) {
  {
    std::lock_guard const lock(mutex_);
    events_.erase(which);
  }
  return driver_state::get().events().close(which);
}

void context::add_module(CUmodule which) {
  std::lock_guard const lock(mutex_);
  modules_.insert(which);
}

bool context::destroy_module(CUmodule which) {
  {
    std::lock_guard const lock(mutex_);
    modules_.erase(which);
  }
  return driver_state::get().modules().close(which);
}

bool context::enable_peer(context const& peer) {
  std::lock_guard const lock(mutex_);
  return peers_.insert(peer.id()).second;
}

bool context::disable_peer(context const& peer) {
  std::lock_guard const lock(mutex_);
  return peers_.erase(peer.id()) != 0;
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
    auto part = driver_state::get().green_contexts().find(each);
    if (!part) { continue; }
    found.groups.push_back(&part->streams());
    found.kept.push_back(std::make_shared<decltype(part)>(std::move(part)));
  }
  return found;
}

void context::synchronize() { stream_group::synchronize(streams_of_all().groups, patience()); }

std::shared_ptr<occurrence> context::record(bool timed) {
  return stream_group::record(streams_of_all().groups, timed);
}

void context::wait_for(std::shared_ptr<occurrence> const& awaited) {
  for (stream_group* const each : streams_of_all().groups) { each->wait_for(awaited); }
}

void context::tear_down() {
  auto& state = driver_state::get();
  static_cast<void>(streams_.tear_down(patience()));

  std::unordered_set<CUevent> events;
  std::unordered_set<CUmodule> modules;
  {
    std::lock_guard const lock(mutex_);
    events.swap(events_);
    modules.swap(modules_);
  }
  for (CUevent const each : events) { state.events().close(each); }
  for (CUmodule const each : modules) { state.modules().close(each); }
  state.memory().free_all(self_);
  fifo_.flush();
}

}  // namespace flotilla::cpu_driver
