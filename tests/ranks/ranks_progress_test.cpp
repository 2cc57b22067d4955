// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Ranks make progress in every arrangement of threads, windows and memory.

#include <atomic>
#include <chrono>
#include <thread>

#include "ranks/ranks_fixture.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

/// Lets data go from rank to rank, and checks what they have become.
void chain_over_ranks(rank_program& here, flow& over, int steps, std::size_t size = 64) {
  word_data x{over, {size}, "x"};
  over.post(uses(write(x)), host_task([](view<std::uint32_t> out) {
              for (std::size_t i = 0; i < out.size(); ++i) {
                out(i) = static_cast<std::uint32_t>(i);
              }
            }));
  words expected = iota(size);
  for (int i = 0; i < steps; ++i) {
    over.post(here.stir(x, static_cast<std::uint32_t>(i)), {.rank = i % here.all.ranks()});
    stir_on_host(expected, static_cast<std::uint32_t>(i));
  }
  if (here.rank() == 0) { EXPECT_EQ(on_host(x), expected); }
}

// requirement: with MPI_THREAD_FUNNELED, only the main thread uses the transport
TEST(RanksProgress, OneThreadMaySendAndReceive) {
  for (int const workers : {0, 1}) {
    expect_on_ranks(3, {.workers = workers, .threads = transport_threads::main_only},
                    [](rank_program& here) {
                      flow over{here.all};
                      chain_over_ranks(here, over, 60);
                    });
  }
}

// requirement: data move although no thread of a rank waits
TEST(RanksProgress, RanksThatComputeAnswer) {
  std::atomic<int> finished{0};
  expect_on_ranks(2, {}, [&](rank_program& here) {
    flow over{here.all};
    word_data x{over, {64}, "x"};
    std::atomic<bool> has_run{false};
    for (int i = 0; i < 10; ++i) {
      over.post(uses(write(x)), host_task([](view<std::uint32_t> out) { out(0) = 1; }),
                {.rank = i % 2});
    }
    over.post(uses(read(x)), host_task([&](view<std::uint32_t const>) { has_run = true; }));
    // The thread of each rank looks at nothing of flotilla meanwhile.
    auto const until = std::chrono::steady_clock::now() + 30s;
    while (here.rank() == 0 && !has_run && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(1ms);
    }
    if (here.rank() == 0) { EXPECT_TRUE(has_run); }
    ++finished;
    while (finished != 2 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(1ms);
    }
  });
}

// regression: in single-threaded mode, a host task could not wait for a copy from another rank
TEST(RanksProgress, AHostTaskMayWaitForAnotherRank) {
  expect_on_ranks(2, {.workers = 0}, [](rank_program& here) {
    flow over{here.all};
    word_data x{over, {64}, "x"};
    over.post(uses(write(x)), host_task([](view<std::uint32_t> out) { out(0) = 5; }), {.rank = 1});
    if (here.rank() == 0) {
      ticket const waits = here.rt.submit(host_task([&] { EXPECT_EQ(x.host()(0), 5u); }));
      waits.wait();
    }
  });
}

// requirement: more tasks than a window has places, and more transfers than ranks may be ahead
TEST(RanksProgress, FullWindowsMakeProgress) {
  expect_on_ranks(2, {}, [](rank_program& here) {
    flow over{here.all};
    chain_over_ranks(here, over, 6000, 16);
  });
  // Rank 0 is thousands of transfers ahead of rank 1.
  expect_on_ranks(2, {}, [](rank_program& here) {
    flow over{here.all};
    std::vector<word_data> data;
    for (int i = 0; i < 3000; ++i) {
      data.emplace_back(over, std::array<std::size_t, 1>{4}, "x");
      over.post(uses(write(data.back())), host_task([i](view<std::uint32_t> out) {
                  out(0) = static_cast<std::uint32_t>(i);
                }));
    }
    if (here.rank() == 1) { std::this_thread::sleep_for(200ms); }
    std::atomic<std::uint32_t> sum{0};
    for (std::size_t i = data.size(); i-- > 0;) {
      over.post(uses(read(data[i])), host_task([&](view<std::uint32_t const> in) { sum += in(0); }),
                {.rank = 1});
    }
    here.rt.wait_idle();
    if (here.rank() == 1) { EXPECT_EQ(sum, 3000u * 2999 / 2); }
  });
}

// requirement: data that do not fit on a device are evicted, also if other ranks need them
TEST(RanksProgress, DataThatDoNotFitAreEvicted) {
  expect_on_ranks(2, {.devices = 2}, [](rank_program& here) {
    constexpr std::size_t size = 1024;
    flow over{here.all, {.memory_limit = 4 * size * sizeof(std::uint32_t)}};
    std::vector<word_data> data;
    std::vector<words> expected;
    for (std::uint32_t i = 0; i < 10; ++i) {
      data.emplace_back(over, std::array<std::size_t, 1>{size}, "x");
      over.post(uses(write(data.back())), host_task([i](view<std::uint32_t> out) {
                  for (std::size_t k = 0; k < out.size(); ++k) { out(k) = i; }
                }));
      expected.emplace_back(size, i);
    }
    for (std::uint32_t round = 0; round < 4; ++round) {
      for (std::size_t i = 0; i < data.size(); ++i) {
        std::size_t const a = (i + 1) % data.size(), b = (i + 3) % data.size();
        over.post(here.mix(data[i], data[a], data[b], round),
                  {.rank = static_cast<int>((i + round) % 2)});
        mix_on_host(expected[i], expected[a], expected[b], round);
      }
    }
    if (here.rank() == 0) {
      for (std::size_t i = 0; i < data.size(); ++i) { EXPECT_EQ(on_host(data[i]), expected[i]); }
    }
  });
}

// requirement: flows of a cluster are independent, so several threads can use one each
TEST(RanksProgress, ThreadsUseFlowsOfTheirOwn) {
  expect_on_ranks(2, {.loop = {.seed = 3}}, [](rank_program& here) {
    constexpr int count = 4;
    std::vector<flow> flows;
    for (int i = 0; i < count; ++i) { flows.emplace_back(here.all); }
    std::vector<std::thread> threads;
    for (flow& each : flows) {
      threads.emplace_back([&] { chain_over_ranks(here, each, 100); });
    }
    for (std::thread& each : threads) { each.join(); }
  });
}

// requirement: while the application uses its own MPI, the cluster does not
TEST(RanksProgress, ExclusiveKeepsTheClusterOut) {
  expect_on_ranks(2, {}, [](rank_program& here) {
    flow over{here.all};
    word_data x{over, {64}, "x"};
    over.post(uses(write(x)), host_task([](view<std::uint32_t>) {}));
    here.all.wait_idle();
    if (here.rank() == 0) {
      here.all.exclusive([&] {
        over.post(uses(update(x)), host_task([](view<std::uint32_t>) {}), {.rank = 1});
        cluster_counters const before = here.all.counters();
        std::this_thread::sleep_for(50ms);
        EXPECT_EQ(here.all.counters().messages_sent, before.messages_sent);
      });
    } else {
      over.post(uses(update(x)), host_task([](view<std::uint32_t>) {}), {.rank = 1});
    }
  });
}

}  // namespace
}  // namespace flotilla::test
