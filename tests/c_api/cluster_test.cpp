// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows over several ranks, through the C interface.

#include <numeric>
#include <vector>

#include "c_api/cluster_fixture.hpp"

namespace flotilla::test {
namespace {

using word_vector = std::vector<std::uint32_t>;

class CCluster : public c_cluster_test {};
FLOTILLA_C_API(CCluster);

/// to[i] += 100
int add_100(flotilla_task_context const*, flotilla_view const* views) {
  auto* const out = static_cast<std::uint32_t*>(views[0].data);
  for (std::size_t i = 0; i < views[0].extents[0]; ++i) { out[i] += 100; }
  return 0;
}

word_vector numbers(std::size_t count, std::uint32_t first) {
  word_vector made(count);
  std::iota(made.begin(), made.end(), first);
  return made;
}

// requirement: a task runs on the owner of what it writes, or on the rank of its options, and
// only there it has a ticket
TEST_P(CCluster, TasksRunOnTheOwnerOrOnTheRankOfTheirOptions) {
  on_ranks(2, [](c_rank& here) {
    EXPECT_EQ(here.ranks, 2);
    flotilla_data const x = here.words(64, "x"), y = here.words(64, "y");
    EXPECT_EQ(here.owner_of(y), 0);
    FLOTILLA_C_OK(flotilla_data_set_owner(y, 1));
    EXPECT_EQ(here.owner_of(y), 1);
    here.fill(x, 7);
    int ran_x = 0, ran_y = 0;
    flotilla_task_options const on_1 = on_rank(1);
    flotilla_ticket of_x{9}, of_y{9};
    FLOTILLA_C_OK(here.submit(
        {flotilla_update(x)},
        [&](auto const* c, auto const* v) { return ran_x = 1, add_100(c, v); }, &on_1, &of_x));
    FLOTILLA_C_OK(here.submit(
        {flotilla_write(y), flotilla_read(x)},
        [&](auto const*, flotilla_view const* views) {
          ran_y = 1;
          auto const* const in = static_cast<std::uint32_t const*>(views[1].data);
          std::copy(in, in + 64, static_cast<std::uint32_t*>(views[0].data));
          return 0;
        },
        nullptr, &of_y));
    for (flotilla_ticket const each : {of_x, of_y}) {
      EXPECT_EQ(each.id != 0, here.rank == 1);
      if (each.id != 0) { FLOTILLA_C_OK(end_of(each)); }
    }
    if (here.rank == 0) {
      EXPECT_EQ(here.on_host(x), numbers(64, 107));
    } else {
      EXPECT_EQ(here.on_host(y), numbers(64, 107));
    }
    EXPECT_EQ(ran_x + ran_y, here.rank == 1 ? 2 : 0);
    FLOTILLA_C_OK(flotilla_cluster_wait_idle(here.all));
    flotilla_cluster_counters counters = FLOTILLA_CLUSTER_COUNTERS_INIT;
    FLOTILLA_C_OK(flotilla_cluster_get_counters(here.all, &counters));
    EXPECT_EQ(counters.transfers_sent, 1u);
    EXPECT_EQ(counters.bytes_sent, 256u);
    EXPECT_EQ(counters.transfers_received, 1u);
  });
}

// requirement: tiles belong to the ranks that the program names, and come back to the owner
TEST_P(CCluster, TilesAreDistributed) {
  on_ranks(3, [](c_rank& here) {
    flotilla_data const x = here.words(1000, "x");
    here.fill(x, 0);
    for (bool const in_turn : {false, true}) {
      constexpr std::size_t count = 7;
      int owners[count];
      in_turn ? flotilla_cyclic(here.ranks, owners, count)
              : flotilla_blocks(here.ranks, owners, count);
      flotilla_data tiles[count];
      FLOTILLA_C_OK(flotilla_data_divide_among(x, flotilla_vector(4, 150), owners, tiles, count));
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(here.owner_of(tiles[i]), static_cast<int>(in_turn ? i % 3 : i * 3 / 7));
        FLOTILLA_C_OK(here.submit({flotilla_update(tiles[i])}, add_100));
      }
      FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_data_collect(x));
      for (flotilla_data const each : tiles) { FLOTILLA_C_OK(flotilla_data_destroy(each)); }
      FLOTILLA_C_OK(flotilla_data_collect(x));
    }
    if (here.rank == 0) { EXPECT_EQ(here.on_host(x), numbers(1000, 200)); }
  });
}

// requirement: the contributions of all ranks are combined
TEST_P(CCluster, AllRanksReduce) {
  static std::uint32_t const zero = 0;
  flotilla_reduction sum = FLOTILLA_REDUCTION_INIT;
  sum.identity = &zero;
  sum.combine = [](void* to, void const* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      static_cast<std::uint32_t*>(to)[i] += static_cast<std::uint32_t const*>(from)[i];
    }
  };
  on_ranks(4, [&sum](c_rank& here) {
    flotilla_data const x = here.words(10, "x");
    here.fill(x, 0);
    for (int rank = 0; rank < here.ranks; ++rank) {
      flotilla_task_options const options = on_rank(rank);
      FLOTILLA_C_OK(here.submit({flotilla_reduce(x, &sum)}, add_100, &options));
    }
    if (here.rank == 0) { EXPECT_EQ(here.on_host(x), numbers(10, 400)); }
  });
}

// requirement: a function that uses the transport alone, and its result
TEST_P(CCluster, ExclusiveCallsTheFunction) {
  on_ranks(2, [](c_rank& here) {
    FLOTILLA_C_OK(flotilla_cluster_wait_idle(here.all));
    auto const count = [](void* user) { return ++*static_cast<int*>(user) == 1 ? 0 : 5; };
    int calls = 0;
    FLOTILLA_C_OK(flotilla_cluster_exclusive(here.all, count, &calls));
    FLOTILLA_C_FAILS(FLOTILLA_TASK_FAILED, "5",
                     flotilla_cluster_exclusive(here.all, count, &calls));
    EXPECT_EQ(last_details().code, 5);
    EXPECT_EQ(calls, 2);
    // A call that would wait for itself is refused.
    auto const wait = [](void* user) {
      FLOTILLA_C_FAILS(FLOTILLA_WOULD_DEADLOCK, "exclusive",
                       flotilla_cluster_wait_idle(*static_cast<flotilla_cluster*>(user)));
      return 0;
    };
    FLOTILLA_C_OK(flotilla_cluster_exclusive(here.all, wait, &here.all));
  });
}

// requirement: functions of tasks may use the cluster while it waits for them in its end
TEST_P(CCluster, TasksUseTheClusterUntilTheyHaveEnded) {
  testing::loop loop{1};
  flotilla_runtime const rt = make_c_runtime(GetParam(), 1);
  flotilla_transport const via = transport_for_c(loop.rank(0));
  flotilla_cluster all{};
  FLOTILLA_C_OK(flotilla_cluster_create(rt, &via, &all));
  flotilla_status inside = FLOTILLA_OTHER_ERROR;
  FLOTILLA_C_OK(submit_body(
      rt,
      [&](flotilla_task_context const&) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        inside = flotilla_cluster_exclusive(
            all, [](void*) { return 0; }, nullptr);
        return 0;
      },
      nullptr, nullptr));
  FLOTILLA_C_OK(flotilla_cluster_destroy(all));
  FLOTILLA_C_OK(inside);
  FLOTILLA_C_OK(flotilla_runtime_destroy(rt));
}

}  // namespace
}  // namespace flotilla::test
