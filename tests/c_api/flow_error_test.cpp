// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Calls with flows and data that the C interface refuses, and tasks that fail.

#include <array>
#include <cstdint>
#include <vector>

#include "c_api/flow_fixture.hpp"

namespace flotilla::test {
namespace {

class CFlowErrors : public c_flow_test {};
FLOTILLA_C_API(CFlowErrors);

// requirement: data with a wrong shape or wrong contents are refused with a text that names the
// mistake
TEST_P(CFlowErrors, BadDataAreRefused) {
  flotilla_data made{17};
  flotilla_shape_of_data shape = flotilla_vector(4, 10);
  auto const create = [&](flotilla_place const* contents = nullptr) {
    return flotilla_data_create(flow, shape, contents, "x", &made);
  };
  shape.rank = 0;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "rank is 0", create());
  EXPECT_EQ(made.id, 0u);
  shape.rank = 4;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "rank is 4", create());
  shape = flotilla_vector(0, 10);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "0 bytes", create());
  shape = flotilla_matrix(4, 10, 0);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "extents[1] is 0", create());
  shape = flotilla_matrix(4, SIZE_MAX / 8, 16);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "PTRDIFF_MAX", create());
  shape = flotilla_vector(4, 10);
  flotilla_place place = flotilla_on_host(nullptr);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "contents->host", create(&place));
  flotilla_buffer const small = words(1, 0, 10);
  place = flotilla_in_buffer(small, 4);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "40", create(&place));
  place = flotilla_in_buffer({12345}, 0);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "buffer", create(&place));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "a flow",
                   flotilla_data_create({0}, shape, nullptr, nullptr, &made));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "made",
                   flotilla_data_create(flow, shape, nullptr, nullptr, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "made",
                   flotilla_token_create(flow, nullptr, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "made", flotilla_flow_create(rt, nullptr, nullptr));
  flotilla_flow_options options = FLOTILLA_FLOW_OPTIONS_INIT;
  options.size = 1;
  flotilla_flow other{};
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "flotilla_flow_options",
                   flotilla_flow_create(rt, &options, &other));
  FLOTILLA_C_OK(create());
  FLOTILLA_C_OK(flotilla_data_destroy(made));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "does not exist any more", flotilla_data_destroy(made));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "names data",
                   flotilla_flow_destroy({words_of_flow().id}));
}

// requirement: bad arguments and uses are refused with a text that names them, and nothing is
// submitted
TEST_P(CFlowErrors, BadUsesAreRefused) {
  flotilla_data const data = words_of_flow(1, "the data");
  flotilla_data token{};
  FLOTILLA_C_OK(flotilla_token_create(flow, nullptr, &token));
  kept(token);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "the data", step(data, 1, 1));  // no contents
  FLOTILLA_C_OK(write(data, 5));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "'multiply_add', argument 0", step(token, 1, 1));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "argument 0", step({999}, 1, 1));
  std::uint32_t const value = 1;
  flotilla_kernel const add = kernel("add_to"), copy = kernel("copy_value");
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "argument 1: the parameter has 4 bytes",
                   submit(add, {flotilla_update(data), flotilla_update(data)}));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "only 1 argument",
                   submit(add, {flotilla_update(data)}));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "2 parameters",
                   submit(add, {flotilla_update(data), flotilla_plain(FLOTILLA_VALUE(value)),
                                flotilla_read(data)}));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "twice",
                   submit(copy, {flotilla_write(data), flotilla_read(data)}));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "no access 9", add_to(flotilla_use_of(data, 9), 1));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "reduction",
                   add_to(flotilla_reduce(data, nullptr), 1));
  flotilla_reduction how = FLOTILLA_REDUCTION_INIT;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "an identity and a function",
                   add_to(flotilla_reduce(data, &how), 1));
  how.size = sizeof how - 1;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "flotilla_reduction",
                   add_to(flotilla_reduce(data, &how), 1));
  FLOTILLA_C_FAILS(
      FLOTILLA_INVALID_ARGUMENT, "arguments",
      flotilla_flow_submit_launch(flow, add, flotilla_over(1, 1), nullptr, 2, nullptr, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "-7", write(data, 1, -7));
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  EXPECT_EQ(value_of(data), 5u);
}

// requirement: data and kernels of another runtime are refused
TEST_P(CFlowErrors, OtherRuntimesAreRefused) {
  flotilla_runtime const other = make_c_runtime(GetParam());
  flotilla_flow other_flow{};
  flotilla_data other_data{};
  FLOTILLA_C_OK(flotilla_flow_create(other, nullptr, &other_flow));
  FLOTILLA_C_OK(
      flotilla_data_create(other_flow, flotilla_vector(4, 1), nullptr, nullptr, &other_data));
  FLOTILLA_C_FAILS(FLOTILLA_WRONG_RUNTIME, "argument 0", write(other_data, 1));
  FLOTILLA_C_FAILS(FLOTILLA_STILL_USED, "1 of its data", flotilla_runtime_destroy(other));
  FLOTILLA_C_OK(flotilla_data_destroy(other_data));
  FLOTILLA_C_FAILS(FLOTILLA_STILL_USED, "1 of its flows", flotilla_runtime_destroy(other));
  FLOTILLA_C_OK(flotilla_flow_destroy(other_flow));
  FLOTILLA_C_OK(flotilla_runtime_destroy(other));
}

// requirement: a function that is refused is destroyed once, and names the bad use
TEST_P(CFlowErrors, RefusedFunctionsAreDestroyed) {
  flotilla_data const data = words_of_flow();
  FLOTILLA_C_OK(write(data, 1));
  int destroyed = 0;
  auto const destroy = [](void* user) { ++*static_cast<int*>(user); };
  flotilla_flow_function const nothing = [](void*, flotilla_task_context const*,
                                            flotilla_view const*) { return 0; };
  std::array<flotilla_use, 2> uses{flotilla_read(data), flotilla_read({5})};
  flotilla_ticket ticket{17};
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "uses[1]",
                   flotilla_flow_submit_host(flow, nothing, &destroyed, destroy, uses.data(), 2,
                                             nullptr, &ticket));
  EXPECT_EQ(ticket.id, 0u);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "function",
                   flotilla_flow_submit_function(flow, nullptr, &destroyed, destroy, uses.data(), 1,
                                                 nullptr, nullptr));
  std::vector<flotilla_use> const many(17, flotilla_read(data));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "at most 16",
                   flotilla_flow_submit_function(flow, nothing, &destroyed, destroy, many.data(),
                                                 17, nullptr, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "a flow",
                   flotilla_flow_submit_host({0}, nothing, &destroyed, destroy, uses.data(), 1,
                                             nullptr, nullptr));
  EXPECT_EQ(destroyed, 4);
  FLOTILLA_C_OK(flotilla_flow_submit_host(flow, nothing, &destroyed, destroy, uses.data(), 1,
                                          nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(destroyed, 5);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "iteration",
                   flotilla_flow_repeat(flow, 1, nullptr, nullptr));
}

// requirement: data are lost if the task that writes them fails, and a task that writes all of them
// heals them
TEST_P(CFlowErrors, LostDataAreReported) {
  flotilla_data const data = words_of_flow();
  flotilla_ticket failed{};
  FLOTILLA_C_OK(submit_host([](flotilla_task_context const*, flotilla_view const*) { return 3; },
                            {flotilla_write(data)}, &failed));
  flotilla_view view{};
  FLOTILLA_C_FAILS(FLOTILLA_DEPENDENCY_FAILED, "returned 3", flotilla_data_to_host(data, 0, &view));
  FLOTILLA_C_FAILS(FLOTILLA_TASK_FAILED, "returned 3", end_of(failed));
  FLOTILLA_C_OK(write(data, 4));
  EXPECT_EQ(value_of(data), 4u);
}

// requirement: bad tiles, places and views are refused
TEST_P(CFlowErrors, BadTilesAndPlacesAreRefused) {
  flotilla_data const data = words_of_flow(10);
  flotilla_data token{};
  FLOTILLA_C_OK(flotilla_token_create(flow, nullptr, &token));
  kept(token);
  std::array<flotilla_data, 4> tiles{};
  auto const divide = [&](flotilla_data which, flotilla_shape_of_data tile, std::size_t count) {
    return flotilla_data_divide(which, tile, tiles.data(), count);
  };
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "4 such tiles, but 'count' is 3",
                   divide(data, flotilla_vector(4, 3), 3));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "extents[0] is 0",
                   divide(data, flotilla_vector(4, 0), 4));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "the tile has 2 and 4",
                   divide(data, flotilla_matrix(4, 3, 3), 4));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "the tile has 1 and 8",
                   divide(data, flotilla_vector(8, 3), 4));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "token", divide(token, flotilla_vector(4, 3), 4));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "tiles",
                   flotilla_data_divide(data, flotilla_vector(4, 3), nullptr, 4));
  flotilla_view view{};
  int valid = 0;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_data_to_host(data, 0, &view));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "view", flotilla_data_to_host(data, 1, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "token", flotilla_data_to_host(token, 0, &view));
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "-5", flotilla_data_prefetch(data, -5));
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "", flotilla_data_is_valid_at(data, 99, &valid));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "valid", flotilla_data_is_valid_at(data, 0, nullptr));
}

}  // namespace
}  // namespace flotilla::test
