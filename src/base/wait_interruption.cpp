// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/detail/wait_interruption.hpp>

#include <flotilla/error/error.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

namespace {

using clock = std::chrono::steady_clock;

// A person notices nothing, and the question may need a lock such as Python's GIL.
constexpr std::chrono::milliseconds between_questions{50};

thread_local constinit interruptible_waits* innermost = nullptr;

}  // namespace

interruptible_waits::interruptible_waits(question must_end, void* state) noexcept
    : must_end_{must_end}, state_{state}, outer_{innermost} {
  innermost = this;
}

interruptible_waits::~interruptible_waits() { innermost = outer_; }

bool interruptible_waits::are_on() noexcept {
  return innermost != nullptr && innermost->must_end_ != nullptr;
}

void interruptible_waits::check() {
  if (!are_on()) { return; }
  interruptible_waits& here = *innermost;
  clock::time_point const now = clock::now();
  if (now < here.next_) { return; }
  bool const is_first = here.next_ == clock::time_point{};
  here.next_ = now + between_questions;
  if (!is_first && here.must_end_(here.state_)) { throw error("the wait was interrupted"); }
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
