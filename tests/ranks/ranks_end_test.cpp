// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that end in unusual ways: no other rank hangs, and each of them learns why.

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/detail/wait_interruption.hpp>

#include "ranks/ranks_fixture.hpp"
#include "support/eventually.hpp"
#include "support/hold.hpp"

namespace flotilla::test {
namespace {

struct adds_until_it_throws {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    if (b == 13) { throw std::runtime_error("13 cannot be added"); }
    return a + b;
  }
};

}  // namespace
}  // namespace flotilla::test

namespace flotilla {
template <>
struct identity_of<test::adds_until_it_throws, std::uint32_t> {
  static constexpr std::uint32_t value = 0;
};
}  // namespace flotilla

namespace flotilla::test {
namespace {

using ::testing::HasSubstr;

void fill(view<std::uint32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) { out(i) = static_cast<std::uint32_t>(i); }
}

// regression: a copy to a rank that had ended its cluster stayed open for ever
TEST(RanksEnd, SendsToARankThatHasEndedAreNamed) {
  for (std::size_t const size : {16u, 100'000u}) {
    auto const errors = on_ranks(2, {.loop = {.eager_bytes = 1000}}, [&](rank_program& here) {
      flow all{here.all};
      std::vector<word_data> data;
      if (here.rank() == 1) { return; }
      for (int i = 0; i < 1500; ++i) {  // more than a window
        data.emplace_back(all, std::array<std::size_t, 1>{size}, "x");
        all.post(uses(write(data.back())), host_task(fill));
        all.post(uses(update(data.back())), host_task(fill), {.rank = 1});
        if (size > 1000 && i == 3) { break; }
      }
      here.all.wait_idle();
    });
    EXPECT_THAT(errors[0], HasSubstr("has ended its cluster")) << size;
  }
}

// regression: wait_idle waited for ever for a rank that had ended
TEST(RanksEnd, WaitIdleNamesARankThatHasEnded) {
  auto const errors = on_ranks(3, {}, [](rank_program& here) {
    if (here.rank() != 1) { here.all.wait_idle(); }
  });
  for (int const i : {0, 2}) {
    EXPECT_THAT(errors[static_cast<std::size_t>(i)], HasSubstr("rank 1 has ended its cluster"));
  }
}

// requirement: an interruption ends waits for other ranks, and the next wait goes on
TEST(RanksEnd, InterruptedWaitsGoOn) {
  std::atomic<int> interrupted{0}, called{0};
  auto const interrupt = [&](auto const& wait) {
    detail::interruptible_waits const on{[](void*) noexcept { return true; }, nullptr};
    EXPECT_THROW(wait(), error);
    ++interrupted;
  };
  auto const errors = on_ranks(2, {}, [&](rank_program& here) {
    auto const wait_for = [&](int count) {
      while (interrupted < count) { std::this_thread::yield(); }
    };
    for (int round = 1; round <= 3; ++round) {
      if (here.rank() == 0) {
        interrupt([&] { here.all.wait_idle(); });
      } else {
        wait_for(round);
      }
      here.all.wait_idle();
      if (here.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        called = round;
      }
      here.all.wait_idle();  // not ended by a record of the interrupted call
      EXPECT_EQ(called, round);
    }
    if (here.rank() == 0) {
      interrupt([&] { detail::wait_for_end(here.all); });
    } else {
      wait_for(4);
    }
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"", ""}));
}

// regression: an exception that only one rank throws from a submit left the others waiting
TEST(RanksEnd, AnErrorOfOneRankOnlyReachesTheOthers) {
  auto const errors = on_ranks(2, {}, [](rank_program& here) {
    flow all{here.all, {.memory_limit = here.rank() == 1 ? std::size_t{64} : std::size_t{1} << 20}};
    word_data x{all, {1024}, "x"};
    all.post(uses(write(x)), host_task(fill));
    all.post(here.stir(x, 1), {.rank = 1});  // needs 4 KiB on the device of rank 1
    if (here.rank() == 0) { static_cast<void>(x.host()); }
  });
  EXPECT_THAT(errors[1], HasSubstr("memory_limit"));
  EXPECT_THAT(errors[0], HasSubstr("rank 1 has failed"));
}

// regression: large copies in both directions stayed open after a failure
TEST(RanksEnd, CrossingLargeCopiesEndAfterAFailure) {
  auto const begun = std::chrono::steady_clock::now();
  auto const errors = on_ranks(2, {.loop = {.eager_bytes = 1000}}, [](rank_program& here) {
    constexpr std::size_t size = 1 << 18;
    flow all{here.all};
    std::vector<word_data> data;
    for (int i = 0; i < 4; ++i) {
      data.emplace_back(all, std::array<std::size_t, 1>{size}, "x");
      data.back().set_owner(i % 2);
      all.post(uses(write(data.back())), host_task(fill));
    }
    // The memory of the receivers is in use for a while.
    for (int i = 0; i < 4; ++i) {
      all.post(uses(update(data[static_cast<std::size_t>(i)])), host_task([](view<std::uint32_t>) {
                 std::this_thread::sleep_for(std::chrono::milliseconds{50});
               }),
               {.rank = 1 - i % 2});
    }
    if (here.rank() == 1) { throw std::runtime_error("stop"); }
    here.rt.wait_idle();
  });
  EXPECT_EQ(errors[1], "stop");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds{30});
}

// regression: an operation that throws while a message was read ended the process
TEST(RanksEnd, AReductionThatThrowsFailsItsReaders) {
  expect_on_ranks(2, {}, [](rank_program& here) {
    flow all{here.all};
    words zero(8);
    word_data sum{all, zero, "sum"};
    all.post(uses(reduce(sum, adds_until_it_throws{})),
             host_task([](view<std::uint32_t> out) { out(0) = 13; }), {.rank = 1});
    if (here.rank() == 0) {
      try {
        static_cast<void>(sum.host());
        ADD_FAILURE() << "the data were combined";
      } catch (dependency_failed const& error) {
        EXPECT_THAT(error.what(), HasSubstr("13 cannot be added"));
      }
    }
  });
}

// regression: tiles of which only some have contents were not the same on all ranks
TEST(RanksEnd, TilesWithoutContentsAreTheSameOnAllRanks) {
  expect_on_ranks(2, {}, [](rank_program& here) {
    flow all{here.all};
    word_data x{all, {64}, "x"};
    {
      auto tiles = x.tiles({16}, cyclic(here.all));
      all.post(uses(write(tiles(1))), host_task(fill));
    }
    x.collect();
    EXPECT_THROW(all.post(here.stir(x, 1)), invalid_argument) << "some tiles have no contents";
    all.post(uses(write(x)), host_task(fill));
    {
      auto tiles = x.tiles({16}, cyclic(here.all));
      for (auto& each : tiles) { all.post(here.stir(each, 1)); }
    }
    x.collect();
    words expected = iota(64);
    stir_on_host(expected, 1);
    if (here.rank() == 0) { EXPECT_EQ(on_host(x), expected); }
  });
}

// requirement: after the end of a cluster, its flows refuse tasks, and data can still end
TEST(RanksEnd, FlowsRefuseTasksAfterTheEnd) {
  testing::loop loop{2};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      runtime rt{{.devices = "cpu:1", .workers = i}};
      std::optional<flow> all;
      word_data x;
      {
        cluster ranks{rt, loop.rank(i)};
        all.emplace(ranks);
        x = word_data{*all, {16}, "x"};
        all->post(uses(write(x)), host_task(fill), {.rank = 1});
        ranks.finish();
        EXPECT_THROW(all->post(uses(write(x)), host_task(fill)), invalid_argument);
      }
      EXPECT_THROW(all->post(uses(write(x)), host_task(fill)), rank_failed);
      rt.wait_idle();
    });
  }
  for (std::thread& each : threads) { each.join(); }
}

// regression: the second of two threads returned while tasks ran, and could close the transport
TEST(RanksEnd, EachThreadThatFinishesWaitsForTheTasks) {
  expect_on_ranks(2, {}, [](rank_program& here) {
    latch inside, go_on;
    std::atomic<int> returned{0};
    here.rt.post(host_task([&] {
      inside.open();
      go_on.wait();
    }));
    auto const finish = [&] {
      here.all.finish();
      ++returned;
    };
    std::thread first{finish}, second{finish};
    EXPECT_TRUE(eventually([&] { return inside.is_open(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    EXPECT_EQ(returned, 0);
    go_on.open();
    first.join();
    second.join();
  });
}

// requirement: calls that cannot return inside `exclusive` are refused
TEST(RanksEnd, CallsInsideExclusiveAreRefused) {
  expect_on_ranks(2, {}, [](rank_program& here) {
    here.all.exclusive([&] {
      EXPECT_THROW(here.all.exclusive([] {}), would_deadlock);
      EXPECT_THROW(here.all.wait_idle(), would_deadlock);
      EXPECT_THROW(here.all.finish(), would_deadlock);
    });
    here.all.wait_idle();
  });
}

// regression: a dead rank was never noticed by those that only received from it
TEST(RanksEnd, ADeadRankIsNoticedByThoseThatOnlyReceive) {
  testing::loop loop{2};
  std::atomic<bool> is_ready{false};
  std::thread victim = start_victim(loop, is_ready);
  runtime rt{{.devices = "cpu:1", .workers = 1}};
  cluster all{rt, loop.rank(0)};
  flow over{all};
  word_data x{over, {16}, "x"};
  over.post(uses(write(x)), host_task(fill), {.rank = 1});
  is_ready = true;
  victim.join();
  EXPECT_THROW(static_cast<void>(x.host()), rank_failed);  // after 10 s of silence
}

// regression: a message that the transport had refused was lost, with what it said of the failure
TEST(RanksEnd, ARefusedCallReachesAllRanks) {
  testing::loop loop{3};
  std::vector<std::string> errors(3);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      try {
        runtime rt{{.devices = "cpu:1", .workers = 1}};
        cluster all{rt, loop.rank(static_cast<int>(i))};
        all.run([&] {
          all.wait_idle();
          if (i == 1) { loop.refuse_next(1, 2); }
          all.wait_idle();
          all.wait_idle();
        });
      } catch (std::exception const& error) { errors[i] = error.what(); }
    });
  }
  for (std::thread& each : threads) { each.join(); }
  for (std::string const& error : errors) { EXPECT_THAT(error, HasSubstr("refused")); }
}

}  // namespace
}  // namespace flotilla::test
