// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows of the C interface: order, places of data, functions, tiles, reductions, repeats.

#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "c_api/flow_fixture.hpp"

namespace flotilla::test {
namespace {

// These numbers are in compiled programs. The ABI check does not see them, because the member
// flotilla_use::access is an int.
static_assert(FLOTILLA_ACCESS_READ == 0 && FLOTILLA_ACCESS_WRITE == 1 &&
              FLOTILLA_ACCESS_UPDATE == 2 && FLOTILLA_ACCESS_COMMUTE == 3 &&
              FLOTILLA_ACCESS_REDUCE == 4);
static_assert(FLOTILLA_HOST == -2);

class CFlow : public c_flow_test {};
FLOTILLA_C_API(CFlow);

// requirement: tasks on several devices and on the host run in the order of their submission
TEST_P(CFlow, TasksRunInTheirOrder) {
  flotilla_data const data = words_of_flow();
  FLOTILLA_C_OK(write(data, 1));
  std::uint32_t expected = 1;
  for (std::uint32_t i = 0; i < 20; ++i) {
    if (i % 5 == 4) {
      FLOTILLA_C_OK(submit_host(
          [i](flotilla_task_context const* context, flotilla_view const* views) {
            EXPECT_EQ(context, nullptr);
            EXPECT_EQ(views[0].rank, 1u);
            EXPECT_EQ(views[0].extents[0], 1u);
            *static_cast<std::uint32_t*>(views[0].data) += i;
            return 0;
          },
          {flotilla_update(data)}));
      expected += i;
    } else {
      FLOTILLA_C_OK(step(data, 3, i, static_cast<int>(i % 2)));
      expected = expected * 3 + i;
    }
  }
  EXPECT_EQ(value_of(data), expected);
}

// requirement: the first contents can be in memory of the program, pinned memory, or a device
TEST_P(CFlow, ContentsCanBeAnywhere) {
  std::array<std::uint32_t, 4> memory{1, 2, 3, 4};
  flotilla_data const pageable = data_at(flotilla_on_host(memory.data()), 4);
  flotilla_buffer pinned{};
  void* address = nullptr;
  FLOTILLA_C_OK(flotilla_host_alloc(rt, 16, &pinned));
  FLOTILLA_C_OK(flotilla_buffer_address(pinned, &address));
  std::iota(static_cast<std::uint32_t*>(address), static_cast<std::uint32_t*>(address) + 4, 10u);
  flotilla_data const in_pinned = data_at(flotilla_in_buffer(pinned, 4), 3);
  flotilla_buffer const on_device = words(1, 30, 8);
  flotilla_data const in_buffer = data_at(flotilla_in_buffer(on_device, 16), 4);
  for (flotilla_data const each : {pageable, in_pinned, in_buffer}) {
    FLOTILLA_C_OK(step(each, 2, 5, 0));
    FLOTILLA_C_OK(step(each, 2, 5, 1));
  }
  EXPECT_EQ(value_of(pageable), 19u);
  EXPECT_EQ(memory[0], 19u);
  EXPECT_EQ(memory[3], 4u);
  EXPECT_EQ(value_of(in_pinned), 59u);
  EXPECT_EQ(static_cast<std::uint32_t*>(address)[1], 59u);
  EXPECT_EQ(static_cast<std::uint32_t*>(address)[0], 10u);
  EXPECT_EQ(value_of(in_buffer), 135u);
  EXPECT_EQ(value_of(in_buffer, 3), 30u);
  EXPECT_EQ(read(on_device, 4), 135u);
  EXPECT_EQ(read(on_device, 3), 30u);
  for (flotilla_data const each : {pageable, in_pinned, in_buffer}) {
    forget(each);
    FLOTILLA_C_OK(flotilla_data_destroy(each));
  }
  FLOTILLA_C_OK(flotilla_buffer_free(pinned));
}

// requirement: the program can change data on the host between tasks
TEST_P(CFlow, TheProgramChangesData) {
  flotilla_data const data = words_of_flow(2);
  flotilla_view view{};
  FLOTILLA_C_OK(flotilla_data_to_host(data, 1, &view));  // gives the data their first contents
  EXPECT_EQ(view.rank, 1u);
  EXPECT_EQ(view.extents[0], 2u);
  EXPECT_EQ(view.pitch, 2u);
  static_cast<std::uint32_t*>(view.data)[0] = 7;
  static_cast<std::uint32_t*>(view.data)[1] = 8;
  FLOTILLA_C_OK(step(data, 10, 1, 1));
  EXPECT_EQ(value_of(data), 71u);
  EXPECT_EQ(value_of(data, 1), 8u);
}

// requirement: a function gets the context of its device and the places of its data
TEST_P(CFlow, FunctionsGetViews) {
  flotilla_data const matrix = [&] {
    flotilla_data made{};
    FLOTILLA_C_OK(flotilla_data_create(flow, flotilla_matrix(4, 3, 5), nullptr, "matrix", &made));
    return kept(made);
  }();
  flotilla_data token{};
  FLOTILLA_C_OK(flotilla_token_create(flow, "token", &token));
  kept(token);
  flotilla_view seen{};
  flotilla_ticket ended{};
  FLOTILLA_C_OK(submit_function(
      [&](flotilla_task_context const* context, flotilla_view const* views) {
        EXPECT_EQ(context->device, 1u);
        EXPECT_NE(context->stream, nullptr);
        EXPECT_EQ(views[0].rank, 0u);
        seen = views[1];
        return 0;
      },
      {flotilla_write(token), flotilla_write(matrix)}, 1, &ended));
  FLOTILLA_C_OK(end_of(ended));
  EXPECT_NE(seen.data, nullptr);
  EXPECT_EQ(seen.rank, 2u);
  EXPECT_EQ(seen.extents[0], 3u);
  EXPECT_EQ(seen.extents[1], 5u);
  EXPECT_EQ(seen.pitch, 5u);
  int valid = -1;
  FLOTILLA_C_OK(flotilla_data_is_valid_at(matrix, 1, &valid));
  EXPECT_EQ(valid, 1);
  FLOTILLA_C_OK(flotilla_data_is_valid_at(matrix, FLOTILLA_HOST, &valid));
  EXPECT_EQ(valid, 0);
  FLOTILLA_C_OK(flotilla_data_set_write_back(matrix, 0));
  FLOTILLA_C_OK(flotilla_data_prefetch(matrix, FLOTILLA_HOST));
  FLOTILLA_C_OK(flotilla_data_prefetch(matrix, 0));
  FLOTILLA_C_OK(flotilla_data_is_valid_at(matrix, FLOTILLA_HOST, &valid));
  EXPECT_EQ(valid, 1);
  FLOTILLA_C_OK(flotilla_data_is_valid_at(matrix, 0, &valid));
  EXPECT_EQ(valid, 1);
}

// requirement: a token orders functions
TEST_P(CFlow, TokensOrderFunctions) {
  flotilla_data token{};
  FLOTILLA_C_OK(flotilla_token_create(flow, nullptr, &token));
  kept(token);
  std::vector<int> order;
  for (int i = 0; i < 10; ++i) {
    FLOTILLA_C_OK(submit_host(
        [&order, i](flotilla_task_context const*, flotilla_view const*) {
          order.push_back(i);
          return 0;
        },
        {flotilla_update(token)}));
  }
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  std::vector<int> expected(10);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

// requirement: tasks on all devices reduce the same data, also with an operation of the program
TEST_P(CFlow, TasksReduceData) {
  static std::uint32_t const zero = 0;
  static flotilla_reduction const sum = {
      sizeof sum, &zero, [](void* to, void const* from, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          static_cast<std::uint32_t*>(to)[i] += static_cast<std::uint32_t const*>(from)[i];
        }
      }};
  flotilla_data const data = words_of_flow();
  FLOTILLA_C_OK(write(data, 1000));
  for (std::uint32_t i = 0; i < 10; ++i) {
    FLOTILLA_C_OK(add_to(flotilla_reduce(data, &sum), i, static_cast<int>(i % 2)));
  }
  EXPECT_EQ(value_of(data), 1045u);
}

// requirement: tasks that commute all run
TEST_P(CFlow, TasksCommute) {
  flotilla_data const data = words_of_flow();
  FLOTILLA_C_OK(write(data, 5));
  for (std::uint32_t i = 0; i < 30; ++i) {
    FLOTILLA_C_OK(add_to(flotilla_commute(data), i, static_cast<int>(i / 10 % 2)));
  }
  EXPECT_EQ(value_of(data), 440u);
}

// requirement: tiles are data of their own, and the whole data have their contents afterwards
TEST_P(CFlow, TilesAreParts) {
  std::vector<std::uint32_t> memory(5 * 7, 1);
  flotilla_place const where = flotilla_on_host(memory.data());
  flotilla_data whole{};
  FLOTILLA_C_OK(flotilla_data_create(flow, flotilla_matrix(4, 5, 7), &where, "whole", &whole));
  kept(whole);
  std::array<flotilla_data, 6> tiles{};
  FLOTILLA_C_OK(flotilla_data_divide(whole, flotilla_matrix(4, 3, 3), tiles.data(), tiles.size()));
  std::array<std::array<std::size_t, 2>, 6> const extents{
      {{3, 3}, {3, 3}, {3, 1}, {2, 3}, {2, 3}, {2, 1}}};
  for (std::uint32_t i = 0; i < tiles.size(); ++i) {
    FLOTILLA_C_OK(submit_host(
        [i, &extents](flotilla_task_context const*, flotilla_view const* views) {
          flotilla_view const& tile = views[0];
          EXPECT_EQ(tile.rank, 2u);
          EXPECT_EQ(tile.extents[0], extents[i][0]);
          EXPECT_EQ(tile.extents[1], extents[i][1]);
          for (std::size_t row = 0; row < tile.extents[0]; ++row) {
            for (std::size_t column = 0; column < tile.extents[1]; ++column) {
              static_cast<std::uint32_t*>(tile.data)[row * tile.pitch + column] += i;
            }
          }
          return 0;
        },
        {flotilla_update(tiles[i])}));
  }
  for (flotilla_data const each : tiles) { FLOTILLA_C_OK(flotilla_data_destroy(each)); }
  flotilla_view view{};
  FLOTILLA_C_OK(flotilla_data_to_host(whole, 0, &view));
  EXPECT_EQ(view.data, memory.data());
  for (std::size_t row = 0; row < 5; ++row) {
    for (std::size_t column = 0; column < 7; ++column) {
      EXPECT_EQ(memory[row * 7 + column], 1 + row / 3 * 3 + column / 3) << row << ", " << column;
    }
  }
}

// requirement: an iteration is submitted as often as the program asks
TEST_P(CFlow, IterationsAreRepeated) {
  struct iteration {
    std::function<flotilla_status()> submit;
    int calls;
    int stop_at;
  };
  flotilla_data const data = words_of_flow();
  iteration one{[&] { return step(data, 1, 2, 0); }, 0, -1};
  FLOTILLA_C_OK(write(data, 0, 0));
  auto const body = [](void* user) {
    auto& self = *static_cast<iteration*>(user);
    if (self.calls++ == self.stop_at) { return 9; }
    return self.submit() == FLOTILLA_SUCCESS ? 0 : 1;
  };
  FLOTILLA_C_OK(flotilla_flow_repeat(flow, 100, body, &one));
  EXPECT_EQ(value_of(data), 200u);
  one.calls = 0;
  one.stop_at = 1;
  FLOTILLA_C_FAILS(FLOTILLA_TASK_FAILED, "the iteration returned 9",
                   flotilla_flow_repeat(flow, 100, body, &one));
  EXPECT_EQ(last_details().code, 9);
  EXPECT_EQ(value_of(data), 202u);
}

// requirement: a loop ends when a function says so
TEST_P(CFlow, LoopsEndByAValue) {
  struct loop {
    std::function<flotilla_status()> submit;
    std::uint32_t enough;
  };
  flotilla_data const data = words_of_flow();
  loop one{[&] { return step(data, 1, 2, 0); }, 90};
  FLOTILLA_C_OK(write(data, 0, 0));
  auto const goes_on = [](void* user, flotilla_view const* value) {
    std::uint32_t const now = *static_cast<std::uint32_t const*>(value->data);
    return now < static_cast<loop const*>(user)->enough ? 1 : 0;
  };
  auto const body = [](void* user) {
    return static_cast<loop const*>(user)->submit() == FLOTILLA_SUCCESS ? 0 : 1;
  };
  std::size_t count = 0;
  FLOTILLA_C_OK(flotilla_flow_repeat_while(flow, data, goes_on, body, &one, 1000, 10, &count));
  EXPECT_EQ(count, 50u);  // each iteration adds 2, and every tenth value is looked at
  EXPECT_EQ(value_of(data), 100u);
  FLOTILLA_C_OK(flotilla_flow_repeat_while(flow, data, goes_on, body, &one, 5, 10, nullptr));
  EXPECT_EQ(value_of(data), 110u);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "check_every",
                   flotilla_flow_repeat_while(flow, data, goes_on, body, &one, 5, 0, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "goes_on",
                   flotilla_flow_repeat_while(flow, data, nullptr, body, &one, 5, 1, nullptr));
}

// requirement: data can outlive their flow
TEST_P(CFlow, DataOutliveTheirFlow) {
  flotilla_data const data = words_of_flow();
  FLOTILLA_C_OK(write(data, 3, 1));
  FLOTILLA_C_OK(flotilla_flow_destroy(flow));
  flow.id = 0;
  EXPECT_EQ(value_of(data), 3u);
}

}  // namespace
}  // namespace flotilla::test
