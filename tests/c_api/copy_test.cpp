// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Copies and fills of the C interface.

#include <cstdint>
#include <numeric>
#include <vector>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

class CCopy : public c_api_test {
 protected:
  static void copy(flotilla_place to, flotilla_place from, std::size_t bytes) {
    flotilla_ticket ticket{};
    FLOTILLA_C_OK(flotilla_submit_copy(to, from, bytes, nullptr, &ticket));
    FLOTILLA_C_OK(end_of(ticket));
  }
  static constexpr std::size_t word = sizeof(std::uint32_t);
};
FLOTILLA_C_API(CCopy);

// requirement: between pageable memory, pinned memory and the memory of two devices, with offsets
TEST_P(CCopy, ReachesEveryKindOfMemory) {
  constexpr std::size_t n = 1000;
  std::vector<std::uint32_t> sent(n), received(n);
  std::iota(sent.begin(), sent.end(), 1u);
  flotilla_buffer const first = words(0, 0, n + 2), second = words(1, 0, n + 3);
  flotilla_buffer pinned{};
  void* address = nullptr;
  FLOTILLA_C_OK(flotilla_host_alloc(rt, (n + 4) * word, &pinned));
  FLOTILLA_C_OK(flotilla_buffer_address(pinned, &address));
  copy(flotilla_in_buffer(first, 2 * word), flotilla_on_host(sent.data()), n * word);
  copy(flotilla_in_buffer(second, 3 * word), flotilla_in_buffer(first, 2 * word), n * word);
  copy(flotilla_in_buffer(pinned, 4 * word), flotilla_in_buffer(second, 3 * word), n * word);
  EXPECT_EQ(static_cast<std::uint32_t*>(address)[4 + 10], sent[10]);
  copy(flotilla_in_buffer(first, 0), flotilla_in_buffer(pinned, 4 * word), n * word);
  copy(flotilla_on_host(received.data()), flotilla_in_buffer(first, 0), n * word);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(read(first, n + 1), sent[n - 1]) << "the first copy wrote the last word";
  EXPECT_EQ(read(second, 2), 0u) << "the word before the place changed";
  FLOTILLA_C_OK(flotilla_buffer_free(pinned));
}

// requirement: a copy or fill runs on the device of its memory
TEST_P(CCopy, RunsOnTheDeviceOfItsMemory) {
  std::uint32_t value = 3;
  flotilla_buffer const there = words(1);
  flotilla_ticket tickets[3]{};
  FLOTILLA_C_OK(flotilla_submit_copy(flotilla_in_buffer(there, 0), flotilla_on_host(&value), word,
                                     nullptr, &tickets[0]));
  FLOTILLA_C_OK(flotilla_wait_all(tickets, 1));
  FLOTILLA_C_OK(flotilla_submit_copy(flotilla_on_host(&value), flotilla_in_buffer(there, 0), word,
                                     nullptr, &tickets[1]));
  FLOTILLA_C_OK(flotilla_wait_all(tickets, 2));
  FLOTILLA_C_OK(
      flotilla_submit_fill(flotilla_in_buffer(there, 0), &value, word, 1, nullptr, &tickets[2]));
  for (flotilla_ticket const each : tickets) {
    int device = -5;
    FLOTILLA_C_OK(flotilla_ticket_device(each, &device));
    EXPECT_EQ(device, 1);
    FLOTILLA_C_OK(end_of(each));
  }
}

// requirement: a fill repeats its value, which is copied
TEST_P(CCopy, FillsWithValuesOfEverySize) {
  flotilla_buffer const memory = words(1, 0x77777777, 16);
  std::uint32_t value[2] = {0x01020304, 0x05060708};
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(flotilla_submit_fill(flotilla_in_buffer(memory, 2 * word), value, sizeof value, 3,
                                     nullptr, &ticket));
  value[0] = value[1] = 0;
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(memory, 1), 0x77777777u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(read(memory, 2 + i), i % 2 == 0 ? 0x01020304u : 0x05060708u) << i;
  }
  EXPECT_EQ(read(memory, 8), 0x77777777u);
  unsigned char const byte = 0xab;
  FLOTILLA_C_OK(flotilla_submit_fill(flotilla_in_buffer(memory, 1), &byte, 1, 2, nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(memory, 0), 0x77abab77u);
}

// requirement: a value of more than 64 bytes is accepted if a shorter pattern makes it up
TEST_P(CCopy, LongValuesNeedAShortPattern) {
  flotilla_buffer const memory = words(0, 0, 100);
  std::vector<std::uint32_t> value(32, 9);
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(flotilla_submit_fill(flotilla_in_buffer(memory, 0), value.data(),
                                     value.size() * word, 2, nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(memory, 63), 9u);
  EXPECT_EQ(read(memory, 64), 0u);
  value[5] = 1;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "64",
                   flotilla_submit_fill(flotilla_in_buffer(memory, 0), value.data(),
                                        value.size() * word, 2, nullptr, &ticket));
}

// requirement: places outside of their buffer are refused. The sum of offset and size may overflow
TEST_P(CCopy, RefusesPlacesOutsideOfTheirBuffer) {
  std::uint32_t host[4] = {};
  flotilla_buffer const memory = words(0, 5, 4);
  struct part {
    std::size_t offset, bytes;
  };
  for (part const each : {part{0, 17}, part{1, 16}, part{16, 1}, part{17, 0}, part{SIZE_MAX, 2},
                          part{4, SIZE_MAX - 1}, part{0, SIZE_MAX}}) {
    flotilla_ticket ticket{5};
    flotilla_place const place = flotilla_in_buffer(memory, each.offset);
    FLOTILLA_C_FAILS(
        FLOTILLA_INVALID_ARGUMENT, "16",
        flotilla_submit_copy(place, flotilla_on_host(host), each.bytes, nullptr, &ticket));
    EXPECT_EQ(ticket.id, 0u);
    FLOTILLA_C_FAILS(
        FLOTILLA_INVALID_ARGUMENT, "16",
        flotilla_submit_copy(flotilla_on_host(host), place, each.bytes, nullptr, &ticket));
    FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "16",
                     flotilla_submit_fill(place, "a", 1, each.bytes, nullptr, &ticket));
  }
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_submit_fill(flotilla_in_buffer(memory, 0), host, word,
                                        SIZE_MAX / word + 2, nullptr, nullptr));
  flotilla_buffer const same = words(0, 6, 4);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "16",
                   flotilla_submit_copy(flotilla_in_buffer(memory, 0), flotilla_in_buffer(same, 0),
                                        SIZE_MAX, nullptr, nullptr));
  for (std::size_t i = 0; i < 4; ++i) { EXPECT_EQ(read(memory, i), 5u); }
}

// requirement: a copy between two places of the host, and a fill of the host
TEST_P(CCopy, RefusesTasksWithoutDeviceMemory) {
  std::uint32_t one = 1, two = 2;
  flotilla_buffer pinned{};
  FLOTILLA_C_OK(flotilla_host_alloc(rt, word, &pinned));
  flotilla_place const in_pinned = flotilla_in_buffer(pinned, 0);
  flotilla_ticket ticket{};
  FLOTILLA_C_FAILS(
      FLOTILLA_INVALID_ARGUMENT, "",
      flotilla_submit_copy(flotilla_on_host(&one), flotilla_on_host(&two), word, nullptr, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_submit_copy(in_pinned, flotilla_on_host(&two), word, nullptr, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_submit_copy(in_pinned, in_pinned, word, nullptr, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_submit_fill(flotilla_on_host(&one), &two, word, 1, nullptr, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_submit_fill(in_pinned, &two, word, 1, nullptr, &ticket));
  EXPECT_EQ(one, 1u);
  FLOTILLA_C_OK(flotilla_buffer_free(pinned));
}

// requirement: null pointers, values without bytes, unknown buffers and devices
TEST_P(CCopy, RefusesBadInput) {
  std::uint32_t value = 1;
  flotilla_buffer const memory = words();
  flotilla_place const place = flotilla_in_buffer(memory, 0);
  flotilla_ticket ticket{};
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_submit_copy(place, flotilla_on_host(nullptr), word, nullptr, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_submit_copy(flotilla_on_host(nullptr), place, word, nullptr, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_submit_fill(place, nullptr, word, 1, nullptr, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "",
                   flotilla_submit_fill(place, &value, 0, 1, nullptr, &ticket));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "",
                   flotilla_submit_copy(flotilla_in_buffer({memory.id + 12345}, 0), place, word,
                                        nullptr, &ticket));
  flotilla_task_options const elsewhere = on_device(9);
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "9",
                   flotilla_submit_fill(place, &value, word, 1, &elsewhere, &ticket));
}

// requirement: a copy between buffers of two runtimes is refused
TEST_P(CCopy, RefusesBuffersOfTwoRuntimes) {
  flotilla_runtime const other = make_c_runtime(GetParam());
  flotilla_buffer const here = words();
  flotilla_buffer device{}, pinned{};
  FLOTILLA_C_OK(flotilla_device_alloc(other, 0, word, &device));
  FLOTILLA_C_OK(flotilla_host_alloc(other, word, &pinned));
  for (flotilla_buffer const foreign : {device, pinned}) {
    flotilla_place const there = flotilla_in_buffer(foreign, 0);
    FLOTILLA_C_FAILS(
        FLOTILLA_WRONG_RUNTIME, "runtime",
        flotilla_submit_copy(there, flotilla_in_buffer(here, 0), word, nullptr, nullptr));
    FLOTILLA_C_FAILS(
        FLOTILLA_WRONG_RUNTIME, "runtime",
        flotilla_submit_copy(flotilla_in_buffer(here, 0), there, word, nullptr, nullptr));
    FLOTILLA_C_OK(flotilla_buffer_free(foreign));
  }
  FLOTILLA_C_OK(flotilla_runtime_destroy(other));
}

}  // namespace
}  // namespace flotilla::test
