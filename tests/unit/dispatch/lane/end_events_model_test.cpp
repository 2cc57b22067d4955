// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The owner of a lane records one event at the ends of several batches, and another thread makes a
// stream wait for a batch. Checks every interleaving: the stream waits for the batch or for a later
// one that is in the lane already, and for a later one only if the batch has ended. The model
// follows the steps of end_events::record and end_events::find.

#include <gtest/gtest.h>

#include <compare>
#include <string>

#include "unit/dispatch/model.hpp"

namespace flotilla::test {
namespace {

/// An error that can be built into the model. The checker must find every such error.
enum class flaw : signed char {
  none,
  ignores_number,    // the other thread does not compare the number of the entry
  forgets_failure,   // the owner stores the number although the driver has refused to record
  records_in_flight  // the owner records the event again before its last batch has ended
};

struct end_events_model {
  static constexpr int moves = 4;  // the owner, the other thread, the device, a refused record
  static constexpr int batches = 3;
  enum owner_steps : signed char { look, record, publish, launch, over };
  enum reader_steps : signed char { choose, find, wait, done };

  flaw with;
  owner_steps owner = look;
  int batch = 1;     // the batch that the owner launches
  int launched = 0;  // the last batch that other threads know
  int reached = 0;   // the last batch that has ended
  int number = 0;    // the entry: the number
  int recorded = 0;  // the batch behind which the event was recorded last
  reader_steps reader = choose;
  int wanted = 0;
  std::string error{};

  explicit end_events_model(flaw broken) : with{broken} {}
  auto operator<=>(end_events_model const&) const = default;

  bool step(int mover) {
    switch (mover) {
      case 0: return step_owner(false);
      case 1: return step_reader();
      case 2: return reached < launched && ++reached != 0;
      default: return owner == record && step_owner(true);
    }
  }

  bool step_owner(bool is_refused) {
    switch (owner) {
      case look:
        owner = number > reached && with != flaw::records_in_flight ? launch : record;
        return true;
      case record:
        if (!is_refused) { recorded = batch; }
        owner = is_refused && with != flaw::forgets_failure ? launch : publish;
        return true;
      case publish:
        number = batch;
        owner = launch;
        return true;
      case launch:
        launched = batch++;
        owner = launched == batches ? over : look;
        return true;
      case over: return false;
    }
    return false;
  }

  bool step_reader() {
    switch (reader) {
      case choose:
        if (launched == 0) { return false; }
        wanted = launched;
        reader = find;
        return true;
      case find:
        reader = number == wanted || with == flaw::ignores_number
                     ? wait
                     : done;  // otherwise the stream waits for the number
        return true;
      case wait:
        if (recorded < wanted) { error = "the stream waits for an earlier batch"; }
        if (recorded > wanted && reached < wanted) { error = "the stream waits too long"; }
        reader = done;
        return true;
      case done: reader = choose; return true;
    }
    return false;
  }

  [[nodiscard]] std::string wrong() const { return error; }
  [[nodiscard]] static std::string stuck() { return {}; }
};

// requirement
TEST(EndEventsModel, StreamsWaitForTheRightBatch) {
  exploration const found = explore(end_events_model{flaw::none});
  EXPECT_EQ(found.wrong, "") << found;
  EXPECT_GT(found.states, 100u);
}

// requirement: the checker finds each built-in error
TEST(EndEventsModelFlaws, AreFound) {
  for (flaw const each : {flaw::ignores_number, flaw::forgets_failure, flaw::records_in_flight}) {
    EXPECT_NE(explore(end_events_model{each}).wrong, "") << static_cast<int>(each);
  }
}

}  // namespace
}  // namespace flotilla::test
