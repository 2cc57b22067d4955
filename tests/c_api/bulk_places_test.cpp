// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Bulks of the C interface whose items have places of their own.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

class CBulkPlaces : public c_api_test {};
FLOTILLA_C_API(CBulkPlaces);

// requirement: a place with a stride is the address of its own memory for each item
TEST_P(CBulkPlaces, ItemsGetTheirPlaces) {
  constexpr std::size_t n = 200, row = 3;
  flotilla_buffer pinned{};
  FLOTILLA_C_OK(flotilla_host_alloc(rt, n * row * sizeof(std::uint32_t), &pinned));
  void* start = nullptr;
  FLOTILLA_C_OK(flotilla_buffer_address(pinned, &start));
  std::vector<std::uint32_t> seen(n * row, 0);
  std::memcpy(start, seen.data(), n * row * sizeof seen[0]);
  std::vector<std::uint32_t> ids(n);
  std::iota(ids.begin(), ids.end(), 0u);
  for (flotilla_buffer const matrix : {words(1, 0, n * row), pinned}) {
    flotilla_argument arguments[] = {flotilla_address(matrix, sizeof ids[0]),
                                     flotilla_value(ids.data(), sizeof ids[0])};
    arguments[0].stride = row * sizeof ids[0];
    arguments[0].bytes = sizeof ids[0];
    arguments[1].stride = sizeof ids[0];
    flotilla_ticket ticket{};
    FLOTILLA_C_OK(flotilla_submit_bulk(kernel("add_to"), flotilla_over(1, 1), arguments, 2, n,
                                       nullptr, &ticket));
    FLOTILLA_C_OK(end_of(ticket));
    if (matrix.id == pinned.id) {
      std::memcpy(seen.data(), start, n * row * sizeof seen[0]);
    } else {
      FLOTILLA_C_OK(flotilla_submit_copy(flotilla_on_host(seen.data()),
                                         flotilla_in_buffer(matrix, 0), n * row * sizeof seen[0],
                                         nullptr, &ticket));
      FLOTILLA_C_OK(end_of(ticket));
    }
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(seen[i * row], 0u);
      EXPECT_EQ(seen[i * row + 1], i);
      EXPECT_EQ(seen[i * row + 2], 0u);
    }
  }
  FLOTILLA_C_OK(flotilla_buffer_free(pinned));
}

// boundary: the place of the last item must be inside the buffer
TEST_P(CBulkPlaces, PlacesMustBeInsideTheirBuffer) {
  flotilla_buffer const matrix = words(0, 0, 30);
  std::uint32_t const one = 1;
  flotilla_argument arguments[] = {flotilla_address(matrix, 0), FLOTILLA_VALUE(one)};
  arguments[0].stride = 3 * sizeof one;
  flotilla_ticket ticket{};
  auto const submit = [&](std::size_t items) {
    return flotilla_submit_bulk(kernel("add_to"), flotilla_over(1, 1), arguments, 2, items, nullptr,
                                &ticket);
  };
  FLOTILLA_C_OK(submit(10));
  FLOTILLA_C_OK(end_of(ticket));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "argument 0", submit(11));
  arguments[0].place.offset = 2 * sizeof one;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "argument 0", submit(10));
  arguments[0].bytes = sizeof one;
  FLOTILLA_C_OK(submit(10));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(matrix, 27), 1u);
  EXPECT_EQ(read(matrix, 29), 1u);
  arguments[0].place.offset = SIZE_MAX - 1;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "argument 0", submit(2));
  arguments[0] = flotilla_address(matrix, 0);
  arguments[0].bytes = 31 * sizeof one;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "argument 0", submit(1));
}

// requirement: the check of the order knows which bytes of a buffer each item and launch uses
TEST_P(CBulkPlaces, PlacesHaveAnOrder) {
  std::uint32_t const one = 1;
  ASSERT_EQ(::setenv("FLOTILLA_CHECK", "order", 1), 0);
  flotilla_runtime const checked = make_c_runtime(GetParam());
  ::unsetenv("FLOTILLA_CHECK");
  flotilla_kernel const add_to = kernel_of(load(checked), "add_to");
  flotilla_buffer matrix{};
  FLOTILLA_C_OK(flotilla_device_alloc(checked, 0, 40 * sizeof one, &matrix));
  flotilla_argument arguments[] = {flotilla_address(matrix, 0), FLOTILLA_VALUE(one)};
  arguments[0].stride = 4 * sizeof one;
  flotilla_ticket all{}, other{};
  auto const bulk = [&](flotilla_ticket* made) {
    return flotilla_submit_bulk(add_to, flotilla_over(1, 1), arguments, 2, 10, nullptr, made);
  };
  FLOTILLA_C_OK(bulk(&all));
  arguments[0].stride = 0;
  EXPECT_EQ(bulk(&other), FLOTILLA_BULK_FAILED);
  EXPECT_EQ(last_details().cause, FLOTILLA_MISSING_DEPENDENCY) << flotilla_last_error();
  FLOTILLA_C_OK(end_of(all));
  flotilla_argument first[] = {flotilla_address(matrix, 0), FLOTILLA_VALUE(one)};
  first[0].bytes = sizeof one;
  flotilla_argument second[] = {flotilla_address(matrix, sizeof one), FLOTILLA_VALUE(one)};
  FLOTILLA_C_OK(flotilla_submit_launch(add_to, flotilla_over(1, 1), first, 2, nullptr, nullptr));
  FLOTILLA_C_OK(flotilla_submit_launch(add_to, flotilla_over(1, 1), second, 2, nullptr, nullptr));
  FLOTILLA_C_OK(flotilla_wait_idle(checked));
  FLOTILLA_C_OK(flotilla_buffer_free(matrix));
  FLOTILLA_C_OK(flotilla_runtime_destroy(checked));
}

}  // namespace
}  // namespace flotilla::test
