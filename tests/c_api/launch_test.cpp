// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Launches of the C interface: arguments, shapes, and the device of a launch.

#include <cstdint>
#include <vector>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

class CLaunch : public c_api_test {
 protected:
  /// Submits a launch of one thread.
  static flotilla_status submit(flotilla_kernel kernel, std::vector<flotilla_argument> arguments,
                                flotilla_task_options const* options, flotilla_ticket* ticket) {
    return flotilla_submit_launch(kernel, flotilla_over(1, 1), arguments.data(), arguments.size(),
                                  options, ticket);
  }
};
FLOTILLA_C_API(CLaunch);

// requirement: values are copied, and addresses name the device
TEST_P(CLaunch, TakesValuesAndAddresses) {
  flotilla_buffer const memory = words(1, 2, 3);
  std::uint32_t factor = 10, summand = 3;
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(
      submit(kernel("multiply_add"),
             {flotilla_address(memory, 4), FLOTILLA_VALUE(factor), FLOTILLA_VALUE(summand)},
             nullptr, &ticket));
  factor = summand = 0;
  int device = -5;
  FLOTILLA_C_OK(flotilla_ticket_device(ticket, &device));
  EXPECT_EQ(device, 1);
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(memory, 0), 2u);
  EXPECT_EQ(read(memory, 1), 23u);
  EXPECT_EQ(read(memory, 2), 2u);
}

// requirement: an address may be passed as a value, and the options name the device
TEST_P(CLaunch, TakesAddressesAsValues) {
  flotilla_buffer const memory = words(1);
  void* address = nullptr;
  FLOTILLA_C_OK(flotilla_buffer_address(memory, &address));
  std::uint32_t const value = 8;
  flotilla_task_options options = on_device(1);
  options.label = "a label";
  options.priority = -1;
  options.alone = 1;
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(submit(kernel("write_value"), {FLOTILLA_VALUE(address), FLOTILLA_VALUE(value)},
                       &options, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(memory), 8u);
}

// requirement: pinned memory may be an argument
TEST_P(CLaunch, TakesPinnedMemory) {
  flotilla_buffer pinned{};
  void* address = nullptr;
  FLOTILLA_C_OK(flotilla_host_alloc(rt, 8, &pinned));
  FLOTILLA_C_OK(flotilla_buffer_address(pinned, &address));
  std::uint32_t const value = 8;
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(submit(kernel("write_value"), {flotilla_address(pinned, 4), FLOTILLA_VALUE(value)},
                       nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(static_cast<std::uint32_t*>(address)[1], 8u);
  FLOTILLA_C_OK(flotilla_buffer_free(pinned));
}

// requirement: the kernel gets the shape, with its dynamic shared memory
TEST_P(CLaunch, HasItsShape) {
  flotilla_buffer const out = words(1, 0, 7);
  flotilla_shape const shape = {{2, 3, 4}, {5, 2, 1}, 0};
  flotilla_argument const argument = flotilla_address(out, 0);
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(
      flotilla_submit_launch(kernel("report_shape"), shape, &argument, 1, nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  std::uint32_t const expected[] = {2, 3, 4, 5, 2, 1, 240};
  for (std::size_t i = 0; i < 7; ++i) { EXPECT_EQ(read(out, i), expected[i]) << i; }
  flotilla_shape const shared = {{1, 1, 1}, {32, 1, 1}, 32 * sizeof(unsigned)};
  FLOTILLA_C_OK(
      flotilla_submit_launch(kernel("sum_shared"), shared, &argument, 1, nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(out), 32u * 33 / 2);
}

// boundary: flotilla_over rounds up, and does not overflow
TEST_P(CLaunch, OverRoundsUp) {
  EXPECT_EQ(flotilla_over(1, 256).grid[0], 1u);
  EXPECT_EQ(flotilla_over(256, 256).grid[0], 1u);
  EXPECT_EQ(flotilla_over(257, 256).grid[0], 2u);
  EXPECT_EQ(flotilla_over(UINT32_MAX, 256).grid[0], 1u << 24);
  EXPECT_EQ(flotilla_over(257, 256).block[0], 256u);
  EXPECT_EQ(flotilla_over(257, 256).grid[1], 1u);
}

// boundary: parameters that need a block of memory of their own
TEST_P(CLaunch, TakesLargeArguments) {
  words_4088 values{};
  std::uint32_t expected = 0;
  for (std::uint32_t i = 0; i < 1022; ++i) {
    values.word[i] = 3 * i;
    expected += values.word[i] * (i + 1);
  }
  flotilla_buffer const sum = words(1);
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(submit(kernel("sum_4088"), {FLOTILLA_VALUE(values), flotilla_address(sum, 0)},
                       nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(sum), expected);
}

// requirement: a wrong number or size of arguments. The text names the kernel, the index and the
// sizes
TEST_P(CLaunch, RefusesWrongArguments) {
  flotilla_kernel const write = kernel("write_value");
  flotilla_argument const where = flotilla_address(words(), 0);
  std::uint32_t const value = 1;
  std::uint64_t const wide = 1;
  flotilla_ticket ticket{5};
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "write_value",
                   submit(write, {where}, nullptr, &ticket));
  EXPECT_EQ(ticket.id, 0u);
  FLOTILLA_C_FAILS(
      FLOTILLA_INVALID_ARGUMENT, "write_value",
      submit(write, {where, FLOTILLA_VALUE(value), FLOTILLA_VALUE(value)}, nullptr, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "argument 1",
                   submit(write, {where, FLOTILLA_VALUE(wide)}, nullptr, &ticket));
  EXPECT_THAT(flotilla_last_error(), AllOf(HasSubstr("8 bytes"), HasSubstr("4 bytes")));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "argument 1",
                   submit(write, {where, where}, nullptr, &ticket));
  FLOTILLA_C_FAILS(
      FLOTILLA_INVALID_HANDLE, "",
      submit(write, {flotilla_value(nullptr, 8), FLOTILLA_VALUE(value)}, nullptr, &ticket));
  FLOTILLA_C_FAILS(
      FLOTILLA_INVALID_ARGUMENT, "",
      flotilla_submit_launch(write, flotilla_over(1, 1), nullptr, 2, nullptr, &ticket));
  flotilla_argument outside = where;
  outside.place.offset = 5;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "offset 5",
                   submit(write, {outside, FLOTILLA_VALUE(value)}, nullptr, &ticket));
  FLOTILLA_C_OK(submit(kernel("nothing"), {}, nullptr, nullptr));
}

// requirement: empty and impossible shapes
TEST_P(CLaunch, RefusesWrongShapes) {
  flotilla_kernel const nothing = kernel("nothing");
  flotilla_ticket ticket{};
  for (flotilla_shape const& shape :
       {flotilla_over(0, 256), flotilla_over(256, 0), flotilla_shape{{1, 0, 1}, {1, 1, 1}, 0},
        flotilla_shape{{1, 1, 1}, {1, 1, 0}, 0}, flotilla_shape{{1, 1, 1}, {2048, 1, 1}, 0}}) {
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "nothing",
                     flotilla_submit_launch(nothing, shape, nullptr, 0, nullptr, &ticket));
  }
}

// requirement: a launch that the driver refuses fails alone, with the status of the driver
TEST_P(CLaunch, LaunchThatTheDriverRefusesFails) {
  flotilla_shape shape = flotilla_over(1, 1);
  shape.dynamic_shared_bytes = 64u << 20;
  flotilla_task_options options = on_device(1);
  options.label = "too much";
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(flotilla_submit_launch(kernel("nothing"), shape, nullptr, 0, &options, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_DRIVER_ERROR, "too much", flotilla_ticket_wait(ticket));
  EXPECT_NE(last_details().driver_status, 0);
  FLOTILLA_C_OK(flotilla_ticket_release(ticket));
}

// requirement: unknown devices, and options of a wrong size
TEST_P(CLaunch, RefusesWrongOptions) {
  flotilla_kernel const nothing = kernel("nothing");
  flotilla_ticket ticket{5};
  for (int const device : {2, -2, 99}) {
    flotilla_task_options const options = on_device(device);
    FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "", submit(nothing, {}, &options, &ticket));
    EXPECT_EQ(ticket.id, 0u);
  }
  for (std::size_t const size : {std::size_t{0}, sizeof(std::size_t)}) {
    flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
    options.size = size;
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "size", submit(nothing, {}, &options, &ticket));
  }
}

// requirement: a kernel cannot use a buffer of another runtime
TEST_P(CLaunch, RefusesBuffersOfAnotherRuntime) {
  flotilla_runtime const other = make_c_runtime(GetParam());
  flotilla_buffer foreign{}, pinned{};
  FLOTILLA_C_OK(flotilla_device_alloc(other, 0, 4, &foreign));
  FLOTILLA_C_OK(flotilla_host_alloc(other, 4, &pinned));
  std::uint32_t const value = 1;
  for (flotilla_buffer const each : {foreign, pinned}) {
    FLOTILLA_C_FAILS(FLOTILLA_WRONG_RUNTIME, "write_value",
                     submit(kernel("write_value"),
                            {flotilla_address(each, 0), FLOTILLA_VALUE(value)}, nullptr, nullptr));
    FLOTILLA_C_OK(flotilla_buffer_free(each));
  }
  FLOTILLA_C_OK(flotilla_runtime_destroy(other));
}

}  // namespace
}  // namespace flotilla::test
