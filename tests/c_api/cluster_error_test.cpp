// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Calls with clusters that the C interface refuses, and tasks and ranks that fail.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "c_api/cluster_fixture.hpp"

namespace flotilla::test {
namespace {

class CClusterErrors : public c_cluster_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    rt = make_c_runtime(GetParam(), 1);
  }
  void TearDown() override {
    FLOTILLA_C_OK(flotilla_runtime_destroy(rt));
    guest_test::TearDown();
  }
  /// A cluster of one rank.
  [[nodiscard]] flotilla_cluster alone() const {
    testing::loop loop{1};
    flotilla_transport const via = transport_for_c(loop.rank(0));
    flotilla_cluster made{};
    FLOTILLA_C_OK(flotilla_cluster_create(rt, &via, &made));
    return made;
  }
  flotilla_runtime rt{};
};
FLOTILLA_C_API(CClusterErrors);

std::atomic<int> closed{0};

// requirement: a transport that is refused is closed, once
TEST_P(CClusterErrors, RefusedTransportsAreClosed) {
  flotilla_cluster made{9};
  flotilla_transport via = FLOTILLA_TRANSPORT_INIT;
  auto const create = [&](flotilla_runtime owner) {
    made.id = 9;
    return flotilla_cluster_create(owner, &via, &made);
  };
  via.close = [](void*) { ++closed; };
  closed = 0;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "lacks a function", create(rt));
  EXPECT_EQ(closed, 1);
  EXPECT_EQ(made.id, 0u);
  testing::loop loop{3};
  auto const complete = [&](int rank) {
    static void (*close)(void*);
    via = transport_for_c(loop.rank(rank));
    close = std::exchange(via.close, [](void* self) {
      ++closed;
      close(self);
    });
  };
  complete(0);
  via.rank = 3;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "rank 3 of 3", create(rt));
  EXPECT_EQ(closed, 2);
  complete(1);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "a runtime", create({0}));
  EXPECT_EQ(closed, 3);
  complete(2);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "made", flotilla_cluster_create(rt, &via, nullptr));
  EXPECT_EQ(closed, 4);
  via.size -= 1;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "flotilla_transport", create(rt));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "via", flotilla_cluster_create(rt, nullptr, &made));
  EXPECT_EQ(closed, 4);
}

// requirement: handles of other objects, and null pointers, are refused
TEST_P(CClusterErrors, BadHandlesAreRefused) {
  flotilla_cluster const all = alone();
  int rank = 0;
  flotilla_flow flow{};
  flotilla_cluster_counters counters = FLOTILLA_CLUSTER_COUNTERS_INIT;
  auto const function = [](void*) { return 0; };
  for (std::uint64_t const id : {std::uint64_t{0}, rt.id, all.id + 1}) {
    flotilla_cluster const wrong{id};
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "a cluster", flotilla_cluster_destroy(wrong));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", flotilla_cluster_rank(wrong, &rank, &rank));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "",
                     flotilla_cluster_exclusive(wrong, function, nullptr));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", flotilla_cluster_wait_idle(wrong));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", flotilla_cluster_finish(wrong));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", flotilla_cluster_fail(wrong, "why"));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", flotilla_cluster_get_counters(wrong, &counters));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", flotilla_flow_create_over(wrong, nullptr, &flow));
  }
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "names a cluster", flotilla_runtime_destroy({all.id}));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "function",
                   flotilla_cluster_exclusive(all, nullptr, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "why", flotilla_cluster_fail(all, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "counters",
                   flotilla_cluster_get_counters(all, nullptr));
  counters.size = 8;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "flotilla_cluster_counters",
                   flotilla_cluster_get_counters(all, &counters));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "made",
                   flotilla_flow_create_over(all, nullptr, nullptr));
  FLOTILLA_C_OK(flotilla_cluster_rank(all, nullptr, nullptr));
  FLOTILLA_C_OK(flotilla_cluster_destroy(all));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "does not exist any more",
                   flotilla_cluster_destroy(all));
}

// requirement: a cluster ends after its flows and data, and before its runtime
TEST_P(CClusterErrors, TheOrderOfTheEndIsChecked) {
  flotilla_cluster const all = alone();
  flotilla_flow flow{};
  flotilla_data data{}, token{}, tiles[2]{};
  int const owners[2] = {0, 0};
  FLOTILLA_C_OK(flotilla_flow_create_over(all, nullptr, &flow));
  FLOTILLA_C_OK(flotilla_data_create(flow, flotilla_vector(4, 8), nullptr, "x", &data));
  FLOTILLA_C_OK(flotilla_token_create(flow, "t", &token));
  FLOTILLA_C_OK(flotilla_data_divide_among(data, flotilla_vector(4, 4), owners, tiles, 2));
  FLOTILLA_C_FAILS(FLOTILLA_STILL_USED, "5 of its flows and data", flotilla_cluster_destroy(all));
  for (flotilla_data const each : {data, token, tiles[0], tiles[1]}) {
    FLOTILLA_C_OK(flotilla_data_destroy(each));
  }
  FLOTILLA_C_OK(flotilla_flow_destroy(flow));
  FLOTILLA_C_FAILS(FLOTILLA_STILL_USED, "1 of its clusters", flotilla_runtime_destroy(rt));
  FLOTILLA_C_OK(flotilla_cluster_destroy(all));
}

// requirement: an end that would wait for its caller is refused, and changes nothing
TEST_P(CClusterErrors, AnEndThatWaitsForItsCallerIsRefused) {
  flotilla_cluster all = alone();
  flotilla_status inside{};
  FLOTILLA_C_OK(run_body(rt, [&](flotilla_task_context const&) {
    inside = flotilla_cluster_destroy(all);
    return 0;
  }));
  EXPECT_EQ(inside, FLOTILLA_WOULD_DEADLOCK);
  auto const destroy = [](void* user) {
    FLOTILLA_C_FAILS(FLOTILLA_WOULD_DEADLOCK, "exclusive",
                     flotilla_cluster_destroy(*static_cast<flotilla_cluster*>(user)));
    return 0;
  };
  FLOTILLA_C_OK(flotilla_cluster_exclusive(all, destroy, &all));
  flotilla_flow flow{};
  FLOTILLA_C_OK(flotilla_flow_create_over(all, nullptr, &flow));
  FLOTILLA_C_OK(flotilla_flow_destroy(flow));
  FLOTILLA_C_OK(flotilla_cluster_destroy(all));
}

// requirement: after an end inside of a task was refused, the cluster can be used and ended
TEST_P(CClusterErrors, TheEndInsideATaskIsRefused) {
  on_ranks(2, [](c_rank& here) {
    flotilla_status finished{}, idle{};
    FLOTILLA_C_OK(run_body(here.rt, [&](flotilla_task_context const&) {
      finished = flotilla_cluster_finish(here.all);
      idle = flotilla_cluster_wait_idle(here.all);
      return 0;
    }));
    EXPECT_EQ(finished, FLOTILLA_WOULD_DEADLOCK);
    EXPECT_EQ(idle, FLOTILLA_WOULD_DEADLOCK);
    here.fill(here.words(4, "x"), 1);
    FLOTILLA_C_OK(flotilla_cluster_finish(here.all));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "finish",
                     here.submit({}, [](auto const*, auto const*) { return 0; }));
  });
}

// requirement: ranks that do not exist are refused, with and without a cluster
TEST_P(CClusterErrors, BadRanksAreRefused) {
  on_ranks(2, [](c_rank& here) {
    flotilla_data const x = here.words(8, "x");
    auto const nothing = [](auto const*, auto const*) { return 0; };
    flotilla_ticket ticket{9};
    for (int const rank : {2, -2}) {
      flotilla_task_options const options = on_rank(rank);
      FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, std::to_string(rank).c_str(),
                       here.submit({flotilla_write(x)}, nothing, &options, &ticket));
      EXPECT_EQ(ticket.id, 0u);
      FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_data_set_owner(x, rank));
    }
    int const owners[2] = {0, 2};
    flotilla_data tiles[2]{};
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "rank 2",
                     flotilla_data_divide_among(x, flotilla_vector(4, 4), owners, tiles, 2));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "owners",
                     flotilla_data_divide_among(x, flotilla_vector(4, 4), nullptr, tiles, 2));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "rank", flotilla_data_owner(x, nullptr));
    here.fill(x, 3);
    flotilla_view view{};
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "without a task",
                     flotilla_data_to_host(x, 1, &view));
    if (here.rank == 1) {
      FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "rank 0", flotilla_data_to_host(x, 0, &view));
    }
  });
  flotilla_task_options options = on_rank(0);
  FLOTILLA_C_OK(run_body(
      rt, [](auto const&) { return 0; }, &options));
  options.rank = 1;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "rank",
                   run_body(
                       rt, [](auto const&) { return 0; }, &options));
}

// requirement: an error of a task on another rank arrives with the rank, and its data heal
TEST_P(CClusterErrors, ErrorsOfOtherRanksNameTheRank) {
  on_ranks(2, [](c_rank& here) {
    flotilla_data const x = here.words(8, "x");
    auto const nothing = [](auto const*, auto const*) { return 0; };
    flotilla_ticket failing{}, reader{};
    FLOTILLA_C_OK(here.submit(
        {flotilla_write(x)}, [](auto const*, auto const*) { return 42; }, nullptr, &failing));
    flotilla_task_options const on_1 = on_rank(1);
    FLOTILLA_C_OK(here.submit({flotilla_read(x)}, nothing, &on_1, &reader));
    if (here.rank == 0) {
      EXPECT_EQ(end_of(failing), FLOTILLA_TASK_FAILED);
    } else {
      FLOTILLA_C_FAILS(FLOTILLA_DEPENDENCY_FAILED, "rank 0: ", end_of(reader));
      EXPECT_EQ(last_details().first_cause, FLOTILLA_REMOTE_ERROR);
      EXPECT_EQ(last_details().code, 0);
    }
    here.fill(x, 5);
    FLOTILLA_C_OK(here.submit({flotilla_read(x)}, nothing, &on_1, &reader));
    if (here.rank == 1) { FLOTILLA_C_OK(end_of(reader)); }
  });
}

// requirement: a rank that fails tells its text to the others
TEST_P(CClusterErrors, FailuresOfRanksReachTheOthers) {
  on_ranks(3, [](c_rank& here) {
    flotilla_data const x = here.words(8, "x");
    if (here.rank == 1) {
      FLOTILLA_C_OK(flotilla_cluster_fail(here.all, "the input is missing"));
      FLOTILLA_C_FAILS(FLOTILLA_RANK_FAILED, "", flotilla_cluster_finish(here.all));
      return;
    }
    FLOTILLA_C_FAILS(FLOTILLA_RANK_FAILED, "rank 1 has failed: the input is missing",
                     flotilla_cluster_wait_idle(here.all));
    EXPECT_EQ(last_details().code, 1);
    FLOTILLA_C_FAILS(FLOTILLA_RANK_FAILED, "the input is missing", flotilla_data_set_owner(x, 1));
  });
}

}  // namespace
}  // namespace flotilla::test
