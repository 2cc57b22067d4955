// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The registry of runtimes: unique numbers, reused entries, and lookups while other threads create
// and destroy runtimes.

#include "dispatch/runtime/runtime_registry.hpp"

#include <flotilla/flotilla.hpp>

#include <malloc.h>

#include <set>
#include <thread>
#include <vector>

#include "support/guest_test.hpp"
#include "support/inside.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

namespace registry = dispatch::runtime_registry;

class RuntimeRegistry : public guest_test {
 protected:
  static runtime_options options() { return {.devices = "cpu:1", .workers = 0}; }
};

// requirement
TEST_F(RuntimeRegistry, NumbersAreUnique) {
  std::set<std::uint64_t> seen;
  std::uint64_t before = registry::next_number();
  EXPECT_NE(before, 0u);
  for (int i = 0; i < 20; ++i) {
    runtime const rt{options()};
    EXPECT_GT(inside(rt).number, before);
    before = inside(rt).number;
    EXPECT_TRUE(seen.insert(before).second);
  }
}

// requirement: `find` returns a runtime until the runtime has ended. For all other numbers it
// returns null. One of them is 0, which is in task ids that name no task.
TEST_F(RuntimeRegistry, RuntimeIsFoundUntilItHasEnded) {
  EXPECT_EQ(registry::find(0), nullptr);
  EXPECT_EQ(registry::find(~std::uint64_t{0} >> 1), nullptr);
  std::uint64_t ended = 0;
  runtime const lives{options()};
  {
    runtime const rt{options()};
    ended = inside(rt).number;
    EXPECT_EQ(registry::find(ended), &inside(rt));
    EXPECT_EQ(registry::find(inside(lives).number), &inside(lives));
  }
  EXPECT_EQ(registry::find(ended), nullptr);
  EXPECT_EQ(registry::find(inside(lives).number), &inside(lives));
  runtime const later{options()};  // reuses the entry
  EXPECT_EQ(registry::find(ended), nullptr);
  EXPECT_EQ(registry::find(inside(later).number), &inside(later));
}

// requirement: a runtime's number stays registered while a ticket of the runtime exists
TEST_F(RuntimeRegistry, TicketsKeepTheEntry) {
  ticket outlives;
  {
    runtime rt{options()};
    outlives = rt.submit([](task_context&) {});
  }
  std::uint64_t const number = outlives.id().runtime;
  EXPECT_NE(registry::find(number), nullptr);
  outlives = {};
  EXPECT_EQ(registry::find(number), nullptr);
}

// requirement: if a process creates and destroys many runtimes one after another, its memory use
// does not grow
TEST_F(RuntimeRegistry, EntriesAreUsedAgain) {
  if (sanitized) { GTEST_SKIP() << "with a sanitizer, mallinfo2 reports nothing"; }
  runtime const rt{options()};
  dispatch::runtime_state& state = inside(rt);
  std::size_t const before = mallinfo2().uordblks;
  for (int i = 0; i < 10000; ++i) {
    registry::remove(state);
    ASSERT_EQ(registry::find(state.number), nullptr);
    registry::add(state);
    ASSERT_EQ(registry::find(state.number), &state);
  }
  EXPECT_LT(mallinfo2().uordblks, before + 10000);
}

// stress: each thread finds its own runtime while other threads create and destroy theirs
TEST_F(RuntimeRegistry, RuntimesComeAndGoOnManyThreads) {
  std::vector<std::jthread> team;
  for (int t = 0; t < 4; ++t) {
    team.emplace_back([] {
      for (int i = 0; i < 25; ++i) {
        std::uint64_t number = 0;
        {
          runtime const rt{options()};
          number = inside(rt).number;
          for (int again = 0; again < 100; ++again) {
            registry::remove(inside(rt));
            registry::add(inside(rt));
            ASSERT_EQ(registry::find(number), &inside(rt));
          }
        }
        ASSERT_EQ(registry::find(number), nullptr);
      }
    });
  }
}

}  // namespace
}  // namespace flotilla::test
