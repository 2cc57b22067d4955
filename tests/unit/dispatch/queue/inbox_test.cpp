#include "dispatch/inbox.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace flotilla::dispatch {
namespace {

// requirement
TEST(Inbox, GivesInTheOrderOfPushing) {
  inbox box{8};
  EXPECT_TRUE(box.empty());
  for (slot_address each : {5u, 3u, 9u}) { box.push(each); }
  EXPECT_FALSE(box.empty());
  slot_address got[8];
  EXPECT_EQ(box.pop(got, 0), 0u);
  ASSERT_EQ(box.pop(got, 2), 2u);
  EXPECT_EQ(got[0], 5u);
  EXPECT_EQ(got[1], 3u);
  ASSERT_EQ(box.pop(got, 8), 1u);
  EXPECT_EQ(got[0], 9u);
  EXPECT_TRUE(box.empty());
}

// requirement: as large as the window, to the last slot
TEST(Inbox, HoldsAWholeWindow) {
  constexpr std::size_t window = 64;
  inbox box{window};
  std::vector<slot_address> got(2 * window);
  for (int round = 0; round < 5; ++round) {
    for (slot_address i = 0; i < window; ++i) { box.push(i); }
    ASSERT_EQ(box.pop(got.data(), got.size()), window);
    for (slot_address i = 0; i < window; ++i) { EXPECT_EQ(got[i], i); }
    box.push(1);  // so that the next round begins elsewhere in the ring
    ASSERT_EQ(box.pop(got.data(), 1), 1u);
  }
}

// requirement
TEST(Inbox, IsClaimedByOneConsumer) {
  inbox box{8};
  EXPECT_TRUE(box.try_claim());
  EXPECT_FALSE(box.try_claim());
  box.unclaim();
  EXPECT_TRUE(box.try_claim());
}

// stress: with the claim, consumers of several devices take each slot once
TEST(Inbox, DeliversEachSlotOnceToWhoeverHasTheClaim) {
  constexpr slot_address slots = 20000;
  inbox box{slots};
  std::vector<int> seen(slots);  // plain: the claim orders the writes
  slot_address delivered = 0;
  std::vector<std::thread> consumers;
  std::atomic<bool> over{false};
  for (int i = 0; i < 3; ++i) {
    consumers.emplace_back([&] {
      slot_address got[7];
      while (!over) {
        if (!box.try_claim()) {
          std::this_thread::yield();
          continue;
        }
        std::size_t const count = box.pop(got, std::size(got));
        for (std::size_t k = 0; k < count; ++k) { ++seen[got[k]]; }
        delivered += static_cast<slot_address>(count);
        if (delivered == slots) { over = true; }
        box.unclaim();
      }
    });
  }
  for (slot_address i = 0; i < slots; ++i) { box.push(i); }
  for (std::thread& each : consumers) { each.join(); }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(slots));
}

// requirement
TEST(InboxRegistry, ShowsWhatWasOpened) {
  inbox_registry registry;
  inbox_registry::view seen;
  registry.refresh(seen);
  EXPECT_TRUE(seen.boxes.empty());
  std::shared_ptr<inbox> const first = registry.open(8);
  std::shared_ptr<inbox> const second = registry.open(8);
  EXPECT_TRUE(seen.boxes.empty()) << "a view is renewed when it is asked to be";
  registry.refresh(seen);
  ASSERT_EQ(seen.boxes.size(), 2u);
  EXPECT_EQ(seen.boxes[0], first);
  EXPECT_EQ(seen.boxes[1], second);
}

// requirement: consumers look into those of urgent tasks first
TEST(InboxRegistry, ShowsTheMostUrgentFirst) {
  inbox_registry registry;
  inbox_registry::view seen;
  registry.refresh(seen);
  EXPECT_EQ(seen.highest(), 0);
  EXPECT_TRUE(seen.of(0).empty());
  std::vector<std::shared_ptr<inbox>> opened;
  for (unsigned const level : {0u, 3u, 0u, 5u, 3u}) {
    opened.push_back(registry.open(8, static_cast<urgency>(level)));
  }
  registry.refresh(seen);
  EXPECT_EQ(seen.highest(), 5);
  EXPECT_EQ(seen.boxes, (std::vector{opened[3], opened[1], opened[4], opened[0], opened[2]}));
  auto const all = [&seen](urgency level) {
    auto const found = seen.of(level);
    return std::vector(found.begin(), found.end());
  };
  EXPECT_EQ(all(5), std::vector{opened[3]});
  EXPECT_TRUE(all(4).empty());
  EXPECT_EQ(all(3), (std::vector{opened[1], opened[4]}));
  EXPECT_TRUE(all(1).empty());
  EXPECT_EQ(all(0), (std::vector{opened[0], opened[2]}));
  EXPECT_EQ(seen.above(0).size(), 3u);
  EXPECT_EQ(seen.above(3).size(), 1u);
  EXPECT_TRUE(seen.above(5).empty());
}

// requirement: an inbox goes when its thread has ended and it is empty, not before
TEST(InboxRegistry, SweepsEmptyOrphansOnly) {
  slot_pool pool{0, 64};
  inbox_registry registry;
  std::shared_ptr<inbox> const living = registry.open(8);
  std::shared_ptr<inbox> const full = registry.open(8);
  std::shared_ptr<inbox> orphan = registry.open(8);
  full->push(1);
  full->orphan();
  orphan->orphan();
  std::weak_ptr<inbox> const gone = std::exchange(orphan, nullptr);
  registry.sweep(pool);
  inbox_registry::view seen;
  registry.refresh(seen);
  ASSERT_EQ(seen.boxes.size(), 2u);
  EXPECT_EQ(seen.boxes[0], living);
  EXPECT_EQ(seen.boxes[1], full);
  EXPECT_TRUE(gone.expired());
  slot_address got = 0;
  ASSERT_EQ(full->pop(&got, 1), 1u);
  registry.sweep(pool);
  registry.refresh(seen);
  ASSERT_EQ(seen.boxes.size(), 1u);
}

/// Numbers of runtimes that no other test uses.
std::uint64_t new_core() {
  static std::atomic<std::uint64_t> last{1'000'000};
  return ++last;
}

// requirement
TEST(ThreadInboxes, AreOnePerThreadAndPlace) {
  inbox_registry here, there;
  std::uint64_t const core = new_core();
  inbox& mine = thread_inboxes::get(core, 0, 2, here, 8);
  EXPECT_EQ(&thread_inboxes::get(core, 0, 2, here, 8), &mine);
  EXPECT_NE(&thread_inboxes::get(core, 1, 2, there, 8), &mine);
  EXPECT_NE(&thread_inboxes::get(new_core(), 0, 2, here, 8), &mine);
  std::thread{[&] { EXPECT_NE(&thread_inboxes::get(core, 0, 2, here, 8), &mine); }}.join();
  inbox_registry::view seen;
  here.refresh(seen);
  EXPECT_EQ(seen.boxes.size(), 3u);
}

// requirement: and for each level that is in use
TEST(ThreadInboxes, AreOnePerLevel) {
  inbox_registry here;
  std::uint64_t const core = new_core();
  inbox& urgent = thread_inboxes::get(core, 1, 2, here, 8, 2);  // the first of all: what is not urgent comes later
  inbox& mine = thread_inboxes::get(core, 1, 2, here, 8);
  EXPECT_EQ(urgent.level(), 2);
  EXPECT_EQ(mine.level(), 0);
  EXPECT_EQ(&thread_inboxes::get(core, 1, 2, here, 8, 2), &urgent);
  EXPECT_EQ(&thread_inboxes::get(core, 1, 2, here, 8), &mine);
  EXPECT_NE(&thread_inboxes::get(core, 1, 2, here, 8, 5), &urgent);
  inbox_registry::view seen;
  here.refresh(seen);
  EXPECT_EQ(seen.boxes.size(), 3u);
}

// requirement: what a thread found last is found at once, and no other place, level or runtime instead
TEST(ThreadInboxes, AreFoundInTurns) {
  constexpr unsigned places = 3, runtimes = 3;
  std::vector<inbox_registry> registries(places * runtimes);
  std::vector<std::uint64_t> cores;
  for (unsigned i = 0; i < runtimes; ++i) { cores.push_back(new_core()); }
  auto const at = [&](unsigned core, unsigned place, urgency level) {
    return &thread_inboxes::get(cores[core], place, places, registries[core * places + place], 8, level);
  };
  std::vector<inbox*> first;
  auto const each = [&](auto&& use) {
    for (urgency level = 0; level < urgencies; ++level) {
      for (unsigned place = 0; place < places; ++place) {
        for (unsigned core = 0; core < runtimes; ++core) { use(at(core, place, level), level); }
      }
    }
  };
  each([&](inbox* box, urgency level) {
    EXPECT_EQ(box->level(), level);
    EXPECT_EQ(std::count(first.begin(), first.end(), box), 0);
    first.push_back(box);
  });
  std::size_t i = 0;
  each([&](inbox* box, urgency) { EXPECT_EQ(box, first[i++]); });
}

// regression: an inbox that could not be made left the thread with the place where the others had been
TEST(ThreadInboxes, AreFoundAfterOneCouldNotBeMade) {
  inbox_registry here;
  std::uint64_t const core = new_core();
  inbox& mine = thread_inboxes::get(core, 0, 1, here, 8);
  constexpr std::size_t too_many = std::size_t{1} << 62;
  EXPECT_THROW((void)thread_inboxes::get(core, 0, 1, here, too_many, 5), std::bad_alloc);
  EXPECT_EQ(&thread_inboxes::get(core, 0, 1, here, 8), &mine);
  EXPECT_EQ(thread_inboxes::get(core, 0, 1, here, 8, 5).level(), 5);
}

// requirement: what a thread pushed before it ended is there, and then its inbox goes
TEST(ThreadInboxes, AreOrphanedWhenTheirThreadEnds) {
  slot_pool pool{0, 64};
  inbox_registry registry;
  std::uint64_t const core = new_core();
  std::thread{[&] { thread_inboxes::get(core, 0, 1, registry, 8).push(42); }}.join();
  inbox_registry::view seen;
  registry.refresh(seen);
  ASSERT_EQ(seen.boxes.size(), 1u);
  EXPECT_TRUE(seen.boxes[0]->orphaned());
  slot_address got = 0;
  EXPECT_EQ(seen.boxes[0]->pop(&got, 1), 1u);
  EXPECT_EQ(got, 42u);
  registry.sweep(pool);
  registry.refresh(seen);
  EXPECT_TRUE(seen.boxes.empty());
}

// requirement: a runtime may end before a thread that submitted to it; what that thread keeps does
// not grow
TEST(ThreadInboxes, ForgetRuntimesThatHaveEnded) {
  std::thread{[] {
    std::weak_ptr<inbox> last;
    for (int i = 0; i < 100; ++i) {
      inbox_registry registry;
      std::uint64_t const core = new_core();
      thread_inboxes::get(core, 0, 1, registry, 8).push(1);
      EXPECT_TRUE(last.expired()) << "kept for a runtime that is gone";
      inbox_registry::view seen;
      registry.refresh(seen);
      last = seen.boxes[0];
    }
  }}.join();
}

// requirement: threads come and go while somebody consumes
TEST(ThreadInboxes, LoseNothingWhileThreadsComeAndGo) {
  constexpr int threads = 60;
  constexpr slot_address each_pushes = 50;
  slot_pool pool{0, 64};
  inbox_registry registry;
  std::uint64_t const core = new_core();
  std::atomic<int> ended{0};
  std::uint64_t sum = 0;
  std::size_t count = 0;
  std::thread consumer{[&] {
    inbox_registry::view seen;
    slot_address got[16];
    for (bool last = false; !last;) {
      last = ended == threads;  // then one more round finds the rest
      registry.refresh(seen);
      for (auto const& box : seen.boxes) {
        while (std::size_t const popped = box->pop(got, std::size(got))) {
          count += popped;
          sum = std::accumulate(got, got + popped, sum);
        }
      }
      registry.sweep(pool);
      std::this_thread::yield();
    }
    registry.refresh(seen);
    EXPECT_TRUE(seen.boxes.empty()) << "all threads have ended, and all their inboxes are empty";
  }};
  for (int i = 0; i < threads; i += 3) {
    std::thread few[3];
    for (std::thread& each : few) {
      each = std::thread{[&] {
        for (slot_address k = 1; k <= each_pushes; ++k) {
          thread_inboxes::get(core, 0, 1, registry, 64).push(k);
        }
      }};
    }
    for (std::thread& each : few) { each.join(), ++ended; }
  }
  consumer.join();
  EXPECT_EQ(count, threads * each_pushes);
  EXPECT_EQ(sum, std::uint64_t{threads} * each_pushes * (each_pushes + 1) / 2);
}

}  // namespace
}  // namespace flotilla::dispatch
