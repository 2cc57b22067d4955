#include "cpu_driver/stream.hpp"

#include <chrono>
#include <thread>

#include "cpu_driver/context.hpp"
#include "cpu_driver/device.hpp"
#include "cpu_driver/stream_group.hpp"

namespace flotilla::cpu_driver {

namespace {

// A stream that has so much to do gains nothing from more, but the memory of what is pending would
// leave the caches: a GPU's driver blocks as well when its queue is full.
constexpr std::uint64_t most_pending = 2048;
constexpr std::uint64_t look_interval = 64;
constexpr std::chrono::microseconds hold_time{200};

unsigned long long next_id() noexcept {
  static std::atomic<unsigned long long> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

stream::stream(CUstream self, stream_group& group, stream_kind kind, int priority) noexcept
    : self_(self), group_(group), kind_(kind), priority_(priority), id_(next_id()) {
  group_.closing().add();
}

context& stream::owner() const noexcept { return group_.owner(); }

void stream::push(operation* made) noexcept {
  made->where = this;
  // relaxed: a count; the executor's inbox orders
  std::uint64_t const before = submitted_.fetch_add(1, std::memory_order_relaxed);
  owner().home().queue().push(made);
  if (before % look_interval == 0) { hold_back(before); }
}

void stream::hold_back(std::uint64_t submitted) noexcept {
  auto seen = completed_.load(std::memory_order_relaxed);
  if (submitted < seen + most_pending) { return; }
  auto last_progress = std::chrono::steady_clock::now();
  while (submitted >= seen + most_pending / 2) {
    std::this_thread::yield();
    auto const now = std::chrono::steady_clock::now();
    auto const next = completed_.load(std::memory_order_relaxed);
    if (next != seen) {
      seen = next;
      last_progress = now;
    } else if (now - last_progress > hold_time) {
      // Perhaps the stream waits for something that this very thread is yet to do.
      return;
    }
  }
}

void stream::synchronize(wait_policy policy) {
  if (idle()) { return; }
  latch reached(1);
  enqueue(reach_latch{&reached});
  reached.wait(policy);
}

void stream::retire() noexcept {
  closing_.what.emplace<close_stream>();
  push(&closing_);
}

}  // namespace flotilla::cpu_driver
