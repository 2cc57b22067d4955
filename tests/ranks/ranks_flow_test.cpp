// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows over several ranks: where tasks run, and how data get there.

#include <atomic>
#include <set>

#include "ranks/ranks_fixture.hpp"

namespace flotilla::test {
namespace {

// requirement: a task runs on the rank that owns what it writes, and gets what it reads
TEST(RanksFlow, DataFollowTheTasks) {
  expect_on_ranks(2, {}, [](rank_program& here) {
    flow all{here.all};
    words host = iota(64);
    word_data x{all, host, "x"}, y{all, {64}, "y"};
    y.set_owner(1);
    all.post(here.stir(x, 7));                               // on rank 0
    ticket const second = all.submit(here.mix(y, x, x, 5));  // on rank 1
    EXPECT_EQ(second.valid(), here.rank() == 1);
    words expected = iota(64), mixed(64);
    stir_on_host(expected, 7);
    mix_on_host(mixed, expected, expected, 5);
    EXPECT_EQ(y.owner(), 1);
    if (here.rank() == 0) {
      EXPECT_EQ(on_host(x), expected);
      EXPECT_THROW(static_cast<void>(y.host()), invalid_argument);
    } else {
      EXPECT_EQ(on_host(y), mixed);
      EXPECT_THROW(static_cast<void>(x.host()), invalid_argument);
    }
  });
}

// requirement: a chain over alternating ranks keeps its order, for small, large and very large data
TEST(RanksFlow, AChainOverAlternatingRanks) {
  for (std::size_t const size : {1u, 256u, 5'000u, 300'000u}) {
    expect_on_ranks(3, {.loop = {.seed = size}}, [&](rank_program& here) {
      flow all{here.all};
      word_data x{all, {size}, "x"};
      all.post(uses(write(x)), host_task([](view<std::uint32_t> out) {
                 for (std::size_t i = 0; i < out.size(); ++i) {
                   out(i) = static_cast<std::uint32_t>(i);
                 }
               }));
      words expected = iota(size);
      for (int i = 0; i < 20; ++i) {
        all.post(here.stir(x, static_cast<std::uint32_t>(i)), {.rank = i % 3});
        stir_on_host(expected, static_cast<std::uint32_t>(i));
      }
      if (here.rank() == 0) { EXPECT_EQ(on_host(x), expected); }
    });
  }
}

// requirement: tiles belong to the ranks that the distribution names, and come back
TEST(RanksFlow, TilesAreDistributed) {
  for (int const ranks : {2, 4}) {
    expect_on_ranks(ranks, {}, [&](rank_program& here) {
      flow all{here.all};
      constexpr std::size_t bands = 10, width = 40;
      words host = iota(bands * width), expected = host;
      word_data x{all, host, "x"};
      std::atomic<int> tasks{0};
      {
        auto tiles = x.tiles({width}, blocks(here.all));
        for (std::size_t i = 0; i < bands; ++i) {
          EXPECT_EQ(tiles(i).owner(),
                    static_cast<int>(i * static_cast<std::size_t>(ranks) / bands));
          all.post(uses(update(tiles(i))), host_task([&tasks, i](view<std::uint32_t> out) {
                     ++tasks;
                     for (std::size_t k = 0; k < out.size(); ++k) {
                       out(k) = out(k) * 3 + static_cast<std::uint32_t>(i);
                     }
                   }));
          for (std::size_t k = 0; k < width; ++k) {
            std::uint32_t& each = expected[i * width + k];
            each = each * 3 + static_cast<std::uint32_t>(i);
          }
        }
        here.rt.wait_idle();
        EXPECT_GT(tasks, 0);
        EXPECT_LT(tasks, static_cast<int>(bands));
      }
      if (here.rank() == 0) {
        EXPECT_THROW(static_cast<void>(x.host()), invalid_argument) << "not collected yet";
      }
      x.collect();
      if (here.rank() == 0) { EXPECT_EQ(on_host(x), expected); }
    });
  }
}

// requirement: ranks add to the same data, also with copies to their owner in between
TEST(RanksFlow, ReductionsReachTheOwner) {
  expect_on_ranks(3, {.devices = 2}, [](rank_program& here) {
    flow all{here.all};
    words host = iota(48), ones(48, 1);
    word_data x{all, host, "x"}, sum{all, ones, "sum"};
    words expected = ones;
    for (std::uint32_t i = 0; i < 12; ++i) {
      all.post(here.add(sum, x, i), {.rank = static_cast<int>(i % 3)});
      for (std::size_t k = 0; k < 48; ++k) { expected[k] += host[k] * i; }
      if (i == 6) {
        all.post(here.stir(sum, 1), {.rank = 2});
        stir_on_host(expected, 1);
      }
    }
    if (here.rank() == 0) { EXPECT_EQ(on_host(sum), expected); }
  });
}

// requirement: many readers get the data, from each other
TEST(RanksFlow, ManyRanksReadTheSame) {
  constexpr int ranks = 12;
  std::atomic<std::uint64_t> sent_by_owner{0};
  expect_on_ranks(ranks, {}, [&](rank_program& here) {
    flow all{here.all};
    words host = iota(64);
    word_data x{all, host, "x"};
    std::vector<word_data> results;
    for (int i = 0; i < ranks; ++i) {
      results.emplace_back(all, std::array<std::size_t, 1>{64}, "result");
      results.back().set_owner(i);
    }
    for (int round = 0; round < 3; ++round) {
      all.post(here.stir(x, 3));
      for (auto& each : results) { all.post(here.mix(each, x, x, 1)); }
    }
    words expected = iota(64), mixed(64);
    for (int round = 0; round < 3; ++round) { stir_on_host(expected, 3); }
    mix_on_host(mixed, expected, expected, 1);
    EXPECT_EQ(on_host(results[static_cast<std::size_t>(here.rank())]), mixed);
    here.all.wait_idle();
    if (here.rank() == 0) { sent_by_owner = here.all.counters().transfers_sent; }
  });
  EXPECT_EQ(sent_by_owner, 12u) << "the owner sends to four ranks in each round";
}

// requirement: copies that `collect` ends give their memory to others, and are sent again
TEST(RanksFlow, CollectingEndsCopies) {
  constexpr std::uint32_t count = 40;
  expect_on_ranks(2, {}, [](rank_program& here) {
    flow all{here.all};
    std::vector<word_data> sent;
    std::set<std::uint32_t const*> places;  // on rank 1
    std::uint32_t sum = 0;
    auto const look = [&](word_data& which) {
      auto const add = [&](view<std::uint32_t const> in) {
        places.insert(in.data);
        sum += in(63);
      };
      ticket const seen = all.submit(uses(read(which)), host_task(add), {.rank = 1});
      if (seen.valid()) { seen.wait(); }
    };
    for (std::uint32_t i = 0; i < count; ++i) {
      sent.emplace_back(all, std::array<std::size_t, 1>{64}, "sent");
      all.post(uses(write(sent.back())), host_task([i](view<std::uint32_t> out) { out(63) = i; }));
      look(sent.back());
      sent.back().collect();
    }
    bool const is_reader = here.rank() == 1;
    EXPECT_EQ(sum, is_reader ? count * (count - 1) / 2 : 0);
    if (is_reader) {
      EXPECT_LE(places.size(), 4u) << "memory of copies that have ended is used again";
    }
    sum = 0;
    look(sent[7]);  // sent again
    look(sent[7]);  // kept
    all.post(uses(update(sent[7])), host_task([](view<std::uint32_t> out) { out(63) *= 2; }));
    look(sent[7]);
    EXPECT_EQ(sum, is_reader ? 28u : 0u);
    here.all.wait_idle();
    std::uint64_t const sent_here = here.all.counters().transfers_sent;
    EXPECT_EQ(sent_here, is_reader ? 0u : count + 2) << "a copy that has ended is sent again";
  });
}

// requirement: task_options::device is a device of the rank of the task; others need not have it
TEST(RanksFlow, ADeviceBelongsToTheRankOfTheTask) {
  expect_on_ranks(2, {.more_devices = 1}, [](rank_program& here) {
    flow all{here.all};
    word_data x{all, {16}, "x"};
    x.set_owner(1);
    task_options const second{.device = device_ordinal{1}};
    all.post(
        uses(write(x)),
        [](task_context& task, auto) { EXPECT_EQ(task.device().ordinal.value, 1u); }, second);
    all.post(here.stir(x, 1), second);
    if (here.rank() == 1) { EXPECT_TRUE(x.is_valid_on(device_ordinal{1})); }
    here.all.wait_idle();
  });
}

// requirement: tokens order tasks on different ranks
TEST(RanksFlow, TokensOrderTasks) {
  std::atomic<int> seen{0};
  expect_on_ranks(2, {}, [&](rank_program& here) {
    flow all{here.all};
    token order{all, "order"};
    for (int i = 0; i < 50; ++i) {
      all.post(uses(update(order)), host_task([&seen, i] { EXPECT_EQ(seen++, i); }),
               {.rank = i % 2});
    }
  });
  EXPECT_EQ(seen, 50);
}

// requirement: wait_idle waits for all ranks
TEST(RanksFlow, WaitIdleWaitsForAllRanks) {
  std::atomic<int> arrived{0};
  expect_on_ranks(5, {}, [&](rank_program& here) {
    for (int i = 1; i <= 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{here.rank()});
      ++arrived;
      here.all.wait_idle();
      EXPECT_GE(arrived, 5 * i);
    }
  });
}

// requirement: a flood of small copies needs few messages
TEST(RanksFlow, SmallCopiesShareMessages) {
  std::atomic<std::uint64_t> messages{0};
  expect_on_ranks(2, {}, [&](rank_program& here) {
    flow all{here.all};
    std::vector<word_data> data;
    constexpr std::size_t count = 256;
    for (std::size_t i = 0; i < count; ++i) {
      data.emplace_back(all, std::array<std::size_t, 1>{16}, "x");
    }
    // All of them begin at once, when this task ends.
    token go{all, "go"};
    std::atomic<bool> released{false};
    all.post(uses(write(go)), host_task([&] {
               while (!released) { std::this_thread::yield(); }
             }));
    for (auto& each : data) {
      all.post(uses(read(go), write(each)), host_task([](view<std::uint32_t> out) { out(0) = 1; }));
    }
    for (auto& each : data) {
      all.post(uses(update(each)), host_task([](view<std::uint32_t> out) { ++out(0); }),
               {.rank = 1});
    }
    here.all.exclusive([&] {
      released = true;
      if (here.rank() == 0) { std::this_thread::sleep_for(std::chrono::milliseconds{200}); }
    });
    here.rt.wait_idle();
    if (here.rank() == 0) { messages = here.all.counters().messages_sent; }
  });
  EXPECT_LE(messages, 4u);
}

}  // namespace
}  // namespace flotilla::test
