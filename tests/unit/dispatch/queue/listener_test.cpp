// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The listener of a doorbell goes away while other threads tell it about events. A thread that ends
// the last task of a runtime tells the doorbell afterwards, when the runtime may already end.
//
//   tell:              read the listener; null? leave; count; read it again; call it; uncount
//   remove_listener:   listener := null; wait until the count is 0; destroy the listener

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <compare>
#include <string>
#include <thread>

#include "dispatch/queue/doorbell.hpp"
#include "support/eventually.hpp"
#include "support/hold.hpp"
#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  does_not_count,   // a thread calls the listener that it has read first
  does_not_reread,  // a thread counts itself, but calls the listener that it has read before
  does_not_wait,    // the listener is destroyed although threads may use it
  waits_first,      // the count is awaited before the listener is removed
};

/// Threads 0 and 1 tell the listener, as often as they can. Thread 2 removes it.
struct listener_model {
  static constexpr int moves = 3;
  enum tellers : signed char { read, count, reread, call, uncount, left };
  enum removers : signed char { remove, await, destroy, removed };

  flaw with;
  std::array<tellers, 2> teller{read, read};
  std::array<bool, 2> has_listener{false, false};
  removers remover{with == flaw::waits_first ? await : remove};
  bool is_set = true;
  bool exists = true;
  bool used_too_late = false;
  signed char counted = 0;

  explicit listener_model(flaw broken) : with{broken} {}
  auto operator<=>(listener_model const&) const = default;

  bool step(int thread) {
    return thread == 2 ? step_remover() : step_teller(static_cast<std::size_t>(thread));
  }
  bool step_teller(std::size_t me) {
    tellers& at = teller[me];
    switch (at) {
      case read:
        has_listener[me] = is_set;
        at = !is_set ? left : with == flaw::does_not_count ? call : count;
        return true;
      case count:
        ++counted;
        at = with == flaw::does_not_reread ? call : reread;
        return true;
      case reread:
        has_listener[me] = is_set;
        at = is_set ? call : uncount;
        return true;
      case call:
        used_too_late = used_too_late || !exists;
        at = with == flaw::does_not_count ? read : uncount;
        return true;
      case uncount:
        --counted;
        at = read;
        return true;
      case left: return false;
    }
    return false;
  }
  bool step_remover() {
    bool const is_first = with == flaw::waits_first;
    switch (remover) {
      case remove:
        is_set = false;
        remover = is_first || with == flaw::does_not_wait ? destroy : await;
        return true;
      case await:
        if (counted != 0) { return false; }
        remover = is_first ? remove : destroy;
        return true;
      case destroy:
        exists = false;
        remover = removed;
        return true;
      case removed: return false;
    }
    return false;
  }
  [[nodiscard]] std::string wrong() const {
    return used_too_late ? "a thread uses a listener that is gone" : "";
  }
  [[nodiscard]] std::string stuck() const {
    return remover == removed ? "" : "the listener cannot be removed";
  }
};

// requirement
TEST(ListenerModel, NoThreadUsesAListenerThatIsGone) {
  exploration const found = explore(listener_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 30u);
}

// requirement: the checker finds each built-in error
TEST(ListenerModel, FlawsAreFound) {
  for (flaw const each :
       {flaw::does_not_count, flaw::does_not_reread, flaw::does_not_wait, flaw::waits_first}) {
    EXPECT_EQ(explore(listener_model{each}).wrong, "a thread uses a listener that is gone")
        << "flaw " << static_cast<int>(each);
  }
}

/// A listener whose functions take until the test releases them.
class held_listener final : public dispatch::doorbell::listener {
 public:
  void work_announced() noexcept override { hear(); }
  void continuation_changed() noexcept override { hear(); }
  void task_ended() noexcept override { hear(); }
  void lease_released() noexcept override { hear(); }
  [[nodiscard]] bool is_inside() const noexcept { return inside_; }
  [[nodiscard]] bool has_left() const noexcept { return left_; }
  void release() noexcept { may_leave_.open(); }

 private:
  void hear() noexcept {
    inside_ = true;
    may_leave_.wait();
    left_ = true;
  }
  std::atomic<bool> inside_{false}, left_{false};
  latch may_leave_;
};

// regression: a thread that had read the listener used it after it was removed
TEST(Listener, IsRemovedAfterTheLastCall) {
  for (auto const tell :
       {+[](dispatch::doorbell const& bell) { bell.ring(); },
        +[](dispatch::doorbell const& bell) { bell.ring_for_continuations(); },
        +[](dispatch::doorbell const& bell) { bell.note_end(); },
        +[](dispatch::doorbell const& bell) { bell.ring_after_lease(false, false); }}) {
    dispatch::doorbell bell;
    held_listener listener;
    bell.set_listener(&listener);
    std::jthread const teller{[&] { tell(bell); }};
    ASSERT_TRUE(eventually([&] { return listener.is_inside(); }));
    std::atomic<bool> removed_early{false};
    {
      std::jthread const remover{[&] {
        bell.remove_listener();
        removed_early = !listener.has_left();
      }};
      // A fixed time, because nothing tells that the remover waits.
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      listener.release();
    }
    EXPECT_FALSE(removed_early);
    tell(bell);  // there is no listener any more
  }
}

}  // namespace
}  // namespace flotilla::test
