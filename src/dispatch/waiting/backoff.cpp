#include "dispatch/patience.hpp"

#include <algorithm>

#include "context/lease.hpp"

namespace flotilla::dispatch {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

}  // namespace

patience::patience(bool single_threaded) noexcept
    : single_threaded_(single_threaded), last_move_(clock::now()), next_question_(last_move_ + milliseconds{2}) {}

drainer patience::who() const noexcept {
  // What other threads submitted is theirs to run, unless nobody else can, or nobody does: what then fills the
  // window, or the room for any-tasks, stands between this thread and what it waits for.
  if (single_threaded_ || clock::now() - last_move_ > milliseconds{1}) { return {}; }
  return {static_cast<std::uint32_t>(context::this_thread_token())};
}

bool patience::time_to_ask() noexcept {
  clock::time_point const now = clock::now();
  if (now < next_question_) { return false; }
  next_question_ = now + milliseconds{5};
  return true;
}

bool patience::time_to_mark() noexcept {
  clock::time_point const now = clock::now();
  if (now < next_marks_) { return false; }
  next_marks_ = now + between_marks_;
  between_marks_ = std::min<clock::duration>(2 * between_marks_, milliseconds{1});
  return true;
}

void patience::moved() noexcept {
  last_move_ = clock::now();
  round_ = 0;
}

}  // namespace flotilla::dispatch
