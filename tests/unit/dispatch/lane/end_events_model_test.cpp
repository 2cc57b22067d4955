// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The owner of a lane records one event at the ends of several batches. Nothing in the stream
// writes the number of a batch with an event. Another thread makes a stream wait for a batch, and
// a third one asks whether a batch has ended. Checks every interleaving: the stream waits for the
// batch or for a later one that is in the lane already, and for a later one only if the batch has
// ended; it never waits for a number that nothing on the device writes; and a batch counts as
// ended only after its end. The model follows the steps of end_events::record and
// end_events::find, of completion_board::enqueue_wait and completion_board::reached.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <compare>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  ignores_number,      // the other threads do not compare the number of the entry
  forgets_failure,     // the owner stores the number although the driver has refused to record
  records_in_flight,   // the owner records the event again before its last batch has ended
  publishes_too_late,  // the owner stores the number after others know that the batch is launched
  asks_for_nothing     // the third thread does not query the event
};

struct end_events_model {
  static constexpr int moves = 5;  // the owner, a waiting thread, the device, a refusal, an asker
  static constexpr int batches = 3;
  enum owner_steps : signed char { look, record, publish, launch, over };
  enum reader_steps : signed char { choose, find, act };

  flaw with;
  owner_steps owner = look;
  int batch = 1;     // the batch that the owner launches
  int launched = 0;  // the last batch that other threads know
  int ended = 0;     // the last batch that has ended
  int reached = 0;   // the lane's number
  int number = 0;    // the entry: the number
  int recorded = 0;  // the batch behind which the event was recorded last
  std::array<bool, batches + 1> has_event{};
  struct reader {
    reader_steps step = choose;
    int wanted = 0;
    auto operator<=>(reader const&) const = default;
  };
  reader waits{}, asks{};
  std::string error{};

  explicit end_events_model(flaw broken) : with{broken} {}
  auto operator<=>(end_events_model const&) const = default;

  bool step(int mover) {
    switch (mover) {
      case 0: return step_owner(false);
      case 1: return step_waits();
      case 2: return step_device();
      case 3: return owner == record && step_owner(true);
      default: return step_asks();
    }
  }

  bool step_owner(bool is_refused) {
    bool const is_late = with == flaw::publishes_too_late;
    switch (owner) {
      case look:
        owner = number > reached && with != flaw::records_in_flight ? launch : record;
        return true;
      case record:
        if (!is_refused) {
          recorded = batch;
          has_event.at(static_cast<std::size_t>(batch)) = true;
        }
        owner = (is_refused && with != flaw::forgets_failure) || is_late ? launch : publish;
        return true;
      case publish:
        number = is_late ? launched : batch;
        owner = is_late ? (launched == batches ? over : look) : launch;
        return true;
      case launch:
        launched = batch++;
        if (is_late && recorded == launched) {
          owner = publish;
          return true;
        }
        owner = launched == batches ? over : look;
        return true;
      case over: return false;
    }
    return false;
  }

  bool step_device() {
    if (ended == launched) { return false; }
    ++ended;
    if (!has_event.at(static_cast<std::size_t>(ended))) { reached = std::max(reached, ended); }
    return true;
  }

  /// Chooses the batch that was launched last, and looks for its event. Then `act` handles the
  /// event, or `otherwise` the case that there is none.
  template <class Act, class Otherwise>
  bool step_reader(reader& one, Act const& act_on, Otherwise const& otherwise) {
    switch (one.step) {
      case choose:
        if (launched == 0) { return false; }
        one.wanted = launched;
        one.step = find;
        return true;
      case find:
        if (number == one.wanted || with == flaw::ignores_number) {
          one.step = act;
          return true;
        }
        otherwise();
        one.step = choose;
        return true;
      case act:
        act_on();
        one.step = choose;
        return true;
    }
    return false;
  }

  /// Reports that a thread relies on the number of a batch although nothing writes it.
  void rely_on_number(int of) {
    if (has_event.at(static_cast<std::size_t>(of)) && reached < of) {
      error = "nothing writes the number of the batch";
    }
  }

  bool step_waits() {
    return step_reader(
        waits,
        [&] {
          if (recorded < waits.wanted) { error = "the stream waits for an earlier batch"; }
          if (recorded > waits.wanted && ended < waits.wanted) {
            error = "the stream waits too long";
          }
        },
        [&] { rely_on_number(waits.wanted); });
  }

  bool step_asks() {
    return step_reader(
        asks,
        [&] {
          bool const is_complete = ended >= recorded || with == flaw::asks_for_nothing;
          if (!is_complete) { return; }
          if (ended < asks.wanted) { error = "a batch counts as ended before its end"; }
          reached = std::max(reached, asks.wanted);
        },
        [&] { rely_on_number(asks.wanted); });
  }

  [[nodiscard]] std::string wrong() const { return error; }
  [[nodiscard]] static std::string stuck() { return {}; }
};

/// A thread asks for the end of a batch while another thread ends the runtime:
/// end_events::has_ended and end_events::forget.
struct forget_model {
  enum class flaw : signed char { none, does_not_count, looks_once, does_not_wait };
  static constexpr int moves = 2;
  enum asker_steps : signed char { find, count, look_again, query, leave, asked };
  enum ender_steps : signed char { clear, wait, destroy, over };

  flaw with;
  asker_steps asker = find;
  ender_steps ender = clear;
  bool has_number = true, is_destroyed = false;
  int users = 0;
  std::string error{};

  explicit forget_model(flaw broken) : with{broken} {}
  auto operator<=>(forget_model const&) const = default;

  bool step(int mover) { return mover == 0 ? step_asker() : step_ender(); }
  bool step_asker() {
    switch (asker) {
      case find: asker = has_number ? count : asked; return true;
      case count:
        if (with != flaw::does_not_count) { ++users; }
        asker = with == flaw::looks_once ? query : look_again;
        return true;
      case look_again: asker = has_number ? query : leave; return true;
      case query:
        if (is_destroyed) { error = "a destroyed event is queried"; }
        asker = leave;
        return true;
      case leave:
        if (with != flaw::does_not_count) { --users; }
        asker = asked;
        return true;
      case asked: return false;
    }
    return false;
  }
  bool step_ender() {
    switch (ender) {
      case clear:
        has_number = false;
        ender = wait;
        return true;
      case wait:
        if (users != 0 && with != flaw::does_not_wait) { return false; }
        ender = destroy;
        return true;
      case destroy:
        is_destroyed = true;
        ender = over;
        return true;
      case over: return false;
    }
    return false;
  }
  [[nodiscard]] std::string wrong() const { return error; }
  [[nodiscard]] std::string stuck() const {
    return asker == asked && ender == over ? "" : "a thread waits forever";
  }
};

// requirement: no thread queries an event after it was destroyed
TEST(EndEventsModel, ThreadsMayAskWhileTheRuntimeEnds) {
  exploration const found = explore(forget_model{forget_model::flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  using flaw_of = forget_model::flaw;
  for (flaw_of const each :
       {flaw_of::does_not_count, flaw_of::looks_once, flaw_of::does_not_wait}) {
    EXPECT_NE(explore(forget_model{each}).wrong, "") << static_cast<int>(each);
  }
}

// requirement
TEST(EndEventsModel, StreamsWaitForTheRightBatch) {
  exploration const found = explore(end_events_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 100u);
}

// requirement: the checker finds each built-in error
TEST(EndEventsModelFlaws, AreFound) {
  for (flaw const each : {flaw::ignores_number, flaw::forgets_failure, flaw::records_in_flight,
                          flaw::publishes_too_late, flaw::asks_for_nothing}) {
    EXPECT_NE(explore(end_events_model{each}).wrong, "") << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
