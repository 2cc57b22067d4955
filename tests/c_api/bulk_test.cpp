// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Bulks of the C interface: many launches with one ticket.

#include <cstdint>
#include <numeric>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

class CBulk : public c_api_test {
 protected:
  /// Submits a bulk whose item k adds 1 to counters[ids[k]].
  flotilla_status count_ids(flotilla_buffer counters, std::vector<std::uint32_t> const& ids,
                            flotilla_task_options const* options, flotilla_ticket* ticket) {
    flotilla_argument arguments[] = {flotilla_address(counters, 0),
                                     flotilla_value(ids.data(), sizeof ids[0])};
    arguments[1].stride = sizeof ids[0];
    return flotilla_submit_bulk(kernel("count_id"), flotilla_over(1, 1), arguments, 2, ids.size(),
                                options, ticket);
  }
  static std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> made(count);
    std::iota(made.begin(), made.end(), 0u);
    return made;
  }
};
FLOTILLA_C_API(CBulk);

// requirement: item k gets the value at k * stride, and the values are copied
TEST_P(CBulk, ItemsGetTheirValues) {
  for (std::size_t const n : {std::size_t{1}, std::size_t{50}, std::size_t{3000}}) {
    flotilla_buffer const counters = words(1, 0, n);
    flotilla_ticket ticket{};
    {
      std::vector<std::uint32_t> ids = numbers(n);
      FLOTILLA_C_OK(count_ids(counters, ids, nullptr, &ticket));
      ids.assign(n, 0u);
    }
    FLOTILLA_C_OK(end_of(ticket));
    std::vector<std::uint32_t> seen(n);
    FLOTILLA_C_OK(flotilla_submit_copy(flotilla_on_host(seen.data()),
                                       flotilla_in_buffer(counters, 0), n * sizeof seen[0], nullptr,
                                       &ticket));
    FLOTILLA_C_OK(end_of(ticket));
    EXPECT_EQ(seen, std::vector<std::uint32_t>(n, 1)) << n << " items";
  }
}

// requirement: the stride may be larger than the value, and without a stride all items get the same
TEST_P(CBulk, StridesSkipBytesOrRepeatTheValue) {
  struct record {
    std::uint32_t id, other;
  };
  std::vector<record> const records{{2, 9}, {0, 9}, {2, 9}, {3, 9}};
  flotilla_buffer const counters = words(0, 0, 10);
  flotilla_argument arguments[] = {flotilla_address(counters, 0),
                                   flotilla_value(&records[0].id, sizeof(std::uint32_t))};
  flotilla_ticket ticket{};
  arguments[1].stride = sizeof(record);
  FLOTILLA_C_OK(flotilla_submit_bulk(kernel("count_id"), flotilla_over(1, 1), arguments, 2,
                                     records.size(), nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  arguments[1].stride = 0;
  FLOTILLA_C_OK(flotilla_submit_bulk(kernel("count_id"), flotilla_over(1, 1), arguments, 2, 7,
                                     nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  std::uint32_t const expected[] = {1, 0, 2 + 7, 1, 0, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < 10; ++i) { EXPECT_EQ(read(counters, i), expected[i]) << i; }
}

// boundary: a bulk without items
TEST_P(CBulk, MayBeEmpty) {
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(count_ids(words(), {}, nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
}

// requirement
TEST_P(CBulk, NumberOfItemsIsBounded) {
  std::uint32_t const id = 0;
  flotilla_argument arguments[] = {flotilla_address(words(), 0), FLOTILLA_VALUE(id)};
  flotilla_ticket ticket{77};
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "items",
                   flotilla_submit_bulk(kernel("count_id"), flotilla_over(1, 1), arguments, 2,
                                        SIZE_MAX, nullptr, &ticket));
  EXPECT_EQ(ticket.id, 0u);
  arguments[1].stride = SIZE_MAX / 4;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "items",
                   flotilla_submit_bulk(kernel("count_id"), flotilla_over(1, 1), arguments, 2, 8,
                                        nullptr, &ticket));
}

// requirement: without a ticket the bulk is posted, with items or without
TEST_P(CBulk, IsPostedWithoutATicket) {
  flotilla_buffer const counters = words(1, 0, 20);
  FLOTILLA_C_OK(count_ids(counters, numbers(20), nullptr, nullptr));
  FLOTILLA_C_OK(count_ids(counters, {}, nullptr, nullptr));
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  for (std::size_t i = 0; i < 20; ++i) { EXPECT_EQ(read(counters, i), 1u) << i; }
}

// requirement: a bulk runs after its predecessors, and its successors run after all items
TEST_P(CBulk, HasPredecessorsAndSuccessors) {
  constexpr std::size_t n = 100;
  flotilla_buffer const counters = words(1, 0, n);
  std::uint32_t const ten = 10, factor = 3, summand = 0;
  flotilla_ticket filled{}, all{}, last{};
  FLOTILLA_C_OK(
      flotilla_submit_fill(flotilla_in_buffer(counters, 0), &ten, sizeof ten, n, nullptr, &filled));
  flotilla_task_options options = after(filled);
  FLOTILLA_C_OK(count_ids(counters, numbers(n), &options, &all));
  options = after(all);
  flotilla_argument const arguments[] = {flotilla_address(counters, (n - 1) * sizeof ten),
                                         FLOTILLA_VALUE(factor), FLOTILLA_VALUE(summand)};
  FLOTILLA_C_OK(flotilla_submit_launch(kernel("multiply_add"), flotilla_over(1, 1), arguments, 3,
                                       &options, &last));
  for (flotilla_ticket const each : {filled, all, last}) { FLOTILLA_C_OK(end_of(each)); }
  EXPECT_EQ(read(counters, 0), 11u);
  EXPECT_EQ(read(counters, n - 1), 33u);
}

// requirement: the ticket reports the item with the smallest index, and the status of this item
TEST_P(CBulk, ReportsTheFirstFailedItem) {
  flotilla_shape shape = flotilla_over(1, 1);
  shape.dynamic_shared_bytes = 64u << 20;  // every driver refuses it
  flotilla_ticket all{};
  FLOTILLA_C_OK(flotilla_submit_bulk(kernel("nothing"), shape, nullptr, 0, 5, nullptr, &all));
  FLOTILLA_C_FAILS(FLOTILLA_BULK_FAILED, "item 0 of 5", flotilla_ticket_wait(all));
  EXPECT_EQ(last_details().cause, FLOTILLA_DRIVER_ERROR);
  EXPECT_EQ(last_details().item, 0u);
  EXPECT_EQ(last_details().driver_status, 0) << "only for FLOTILLA_DRIVER_ERROR itself";
  flotilla_task_options const options = after(all);
  flotilla_ticket behind{};
  FLOTILLA_C_OK(count_ids(words(), numbers(1), &options, &behind));
  FLOTILLA_C_FAILS(FLOTILLA_BULK_FAILED, "item 0 of 1", flotilla_ticket_wait(behind));
  EXPECT_EQ(last_details().cause, FLOTILLA_DEPENDENCY_FAILED);
  FLOTILLA_C_OK(flotilla_ticket_release(all));
  FLOTILLA_C_OK(flotilla_ticket_release(behind));
}

// requirement: if one item fails, the others still run
TEST_P(CBulk, OtherItemsRunIfOneFails) {
  FLOTILLA_NEED_CPU_DRIVER();
  constexpr std::size_t n = 20;
  flotilla_buffer const counters = words(1, 0, n);
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  flotilla_task_options options = on_device(1);
  options.alone = 1;
  testing::fail_call("cuLaunchKernel", 6, driver_status::launch_out_of_resources);
  flotilla_ticket all{};
  FLOTILLA_C_OK(count_ids(counters, numbers(n), &options, &all));
  FLOTILLA_C_FAILS(FLOTILLA_BULK_FAILED, "of 20", flotilla_ticket_wait(all));
  flotilla_error_details const details = last_details();
  testing::clear_faults();
  EXPECT_EQ(details.cause, FLOTILLA_DRIVER_ERROR);
  ASSERT_LT(details.item, n);
  FLOTILLA_C_OK(flotilla_ticket_release(all));
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(read(counters, i), i == details.item ? 0u : 1u) << i;
  }
}

// requirement: cancel cancels the items that are not launched
TEST_P(CBulk, CanBeCancelled) {
  flotilla_buffer const counters = words(0, 0, 50);
  flotilla_ticket all{};
  {
    c_gate gate{rt};
    flotilla_task_options const options = after(gate.ticket());
    FLOTILLA_C_OK(count_ids(counters, numbers(50), &options, &all));
    int cancelled = 0;
    FLOTILLA_C_OK(flotilla_ticket_cancel(all, &cancelled));
    EXPECT_EQ(cancelled, 1);
  }
  FLOTILLA_C_FAILS(FLOTILLA_BULK_FAILED, "item 0 of 50", flotilla_ticket_wait(all));
  EXPECT_EQ(last_details().cause, FLOTILLA_TASK_CANCELLED);
  FLOTILLA_C_OK(flotilla_ticket_release(all));
  EXPECT_EQ(read(counters, 7), 0u);
}

// requirement: wrong arguments, shapes and options are refused, and nothing is submitted
TEST_P(CBulk, RefusesBadInput) {
  flotilla_buffer const counters = words(0, 0, 4);
  std::uint64_t const wide = 0;
  std::uint32_t const id = 0;
  flotilla_kernel const count_id = kernel("count_id");
  flotilla_shape const one = flotilla_over(1, 1);
  flotilla_argument arguments[] = {flotilla_address(counters, 0), FLOTILLA_VALUE(wide)};
  flotilla_ticket all{5};
  /// An error of an item is FLOTILLA_BULK_FAILED with the error as its cause.
  auto const refuse = [&](flotilla_status got, flotilla_status expected) {
    EXPECT_EQ(got == FLOTILLA_BULK_FAILED ? last_details().cause : got, expected)
        << flotilla_last_error();
    EXPECT_EQ(last_details().item, 0u);
    EXPECT_EQ(all.id, 0u);
    all.id = 5;
  };
  refuse(flotilla_submit_bulk(count_id, one, arguments, 2, 3, nullptr, &all),
         FLOTILLA_INVALID_ARGUMENT);
  refuse(flotilla_submit_bulk(count_id, one, arguments, 1, 3, nullptr, &all),
         FLOTILLA_INVALID_ARGUMENT);
  refuse(flotilla_submit_bulk(count_id, one, nullptr, 2, 3, nullptr, &all),
         FLOTILLA_INVALID_ARGUMENT);
  arguments[1] = FLOTILLA_VALUE(id);
  refuse(flotilla_submit_bulk(count_id, flotilla_over(0, 1), arguments, 2, 3, nullptr, &all),
         FLOTILLA_INVALID_ARGUMENT);
  flotilla_task_options options = on_device(9);
  refuse(flotilla_submit_bulk(count_id, one, arguments, 2, 3, &options, &all),
         FLOTILLA_UNKNOWN_DEVICE);
  options = on_device(0);
  options.size = 8;
  refuse(flotilla_submit_bulk(count_id, one, arguments, 2, 3, &options, &all),
         FLOTILLA_INVALID_ARGUMENT);
  options = on_device(0);
  options.after_count = 1;
  refuse(flotilla_submit_bulk(count_id, one, arguments, 2, 3, &options, &all),
         FLOTILLA_INVALID_ARGUMENT);
  arguments[0].place.buffer.id = 0;
  refuse(flotilla_submit_bulk(count_id, one, arguments, 2, 3, nullptr, &all),
         FLOTILLA_INVALID_HANDLE);
  EXPECT_EQ(read(counters, 0), 0u);
}

}  // namespace
}  // namespace flotilla::test
