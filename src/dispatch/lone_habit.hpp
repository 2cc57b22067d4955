#pragma once
// Whether a thread submits one task and waits for it, again and again.

#include <cstdint>

#include <flotilla/ticket.hpp>

#include "dispatch/slot.hpp"

namespace flotilla::dispatch {

/// To hand a lone task to a worker costs more than to launch it: a microsecond or two until the worker has its lines, and
/// as much again for what it wrote. A thread that is going to wait for its task anyway launches it itself, if the worker
/// that looks out for work lets it: see device_queue::expects_waiter. This is how it is known in time.
///
/// One a thread, for the runtime that it used last. Wrong guesses cost a worker's short delay, and end the habit.
class lone_habit {
 public:
  [[nodiscard]] static lone_habit& of_this_thread() noexcept {
    static thread_local constinit lone_habit mine;
    return mine;
  }

  /// A task of `core` was submitted. @return whether this thread will wait for it next, most likely.
  [[nodiscard]] bool submitted(std::uint64_t core, slot_address task, std::uint64_t generation) noexcept {
    if (core != core_) { *this = {}; }
    core_ = core;
    task_ = task;
    generation_ = generation;
    return ++since_wait_ == 1 && in_a_row_ >= enough;
  }
  /// This thread waits for one. @return whether that was to be expected.
  [[nodiscard]] bool waits(std::uint64_t core, slot_address task, std::uint64_t generation) noexcept {
    bool const lone = core == core_ && task == task_ && generation == generation_ && since_wait_ == 1;
    bool const expected = lone && in_a_row_ >= enough;
    in_a_row_ = lone ? in_a_row_ + (expected ? 0 : 1) : 0;
    since_wait_ = 0;
    return expected;
  }

 private:
  static constexpr std::uint32_t enough = 8;
  std::uint64_t core_ = 0;
  std::uint64_t generation_ = 0;
  slot_address task_ = no_slot;
  std::uint32_t since_wait_ = 0;
  std::uint32_t in_a_row_ = 0;
};

}  // namespace flotilla::dispatch
