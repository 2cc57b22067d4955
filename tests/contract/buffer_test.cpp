// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Device and host buffers: creation, moves, destruction while tasks use them, and refused sizes.

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include <flotilla/testing/fault_injection.hpp>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Buffer : public contract_test {};
FLOTILLA_CONTRACT(Buffer);

// requirement
TEST_P(Buffer, BufferKnowsItsSizeDeviceAndAddress) {
  for (device_ordinal const device : ordinals()) {
    device_buffer<double> buffer{rt(), device, 10};
    EXPECT_EQ(buffer.size(), 10u);
    EXPECT_EQ(buffer.device(), device);
    EXPECT_NE(buffer.address(), 0u);
    EXPECT_EQ(static_cast<double*>(buffer), buffer.data());
    EXPECT_EQ(buffer.data(), reinterpret_cast<double*>(buffer.address()));
  }
}

// requirement: the caller may change the source span as soon as the constructor has returned
TEST_P(Buffer, BufferMadeFromASpanHasItsValues) {
  std::vector<std::uint16_t> host(1001);
  for (std::size_t i = 0; i < host.size(); ++i) { host[i] = static_cast<std::uint16_t>(i * 3); }
  device_buffer<std::uint16_t> buffer{rt(), last(), host};
  std::vector<std::uint16_t> back(host.size());
  std::vector<std::uint16_t> const expected = host;
  host.assign(host.size(), 0);
  rt().submit(buffer.copy_to(back)).wait();
  EXPECT_EQ(back, expected);
}

// requirement
TEST_P(Buffer, EmptyBufferCopiesNothing) {
  device_buffer<int> none{rt(), first(), 0};
  device_buffer<int> of_span{rt(), first(), std::span<int const>{}};
  host_buffer<int> host{rt(), 0};
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.address(), 0u);
  EXPECT_EQ(host.size(), 0u);
  rt().submit(none.copy_to(std::span<int>{})).wait();
  rt().submit(none.copy_from(host)).wait();
  rt().submit(none.copy_to(of_span)).wait();
  rt().submit(none.fill(3)).wait();
}

// requirement
TEST_P(Buffer, MoveKeepsTheMemory) {
  std::uint32_t const value = 77;
  device_buffer<std::uint32_t> from{rt(), last(), std::span{&value, 1}};
  std::uintptr_t const address = from.address();
  device_buffer<std::uint32_t> to{std::move(from)};
  device_buffer<std::uint32_t> assigned{rt(), first(), 5};
  assigned = std::move(to);
  EXPECT_EQ(assigned.address(), address);
  EXPECT_EQ(assigned.device(), last());
  std::uint32_t back = 0;
  rt().submit(assigned.copy_to(std::span{&back, 1})).wait();
  EXPECT_EQ(back, 77u);
}

// requirement: the destructor of a buffer does not wait. The memory stays valid for open tasks
TEST_P(Buffer, MemoryFreedWhileATaskUsesItStaysValid) {
  host_buffer<std::uint32_t> result{rt(), 1};
  result[0] = 0;
  std::optional<device_word> doomed{std::in_place, rt(), last(), 123u};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ticket const used = rt().submit(
      program().copy.with_shape({1}, {1})(result.data(), doomed->buffer()), {.after = {held}});
  doomed.reset();
  EXPECT_FALSE(used.ready());
  // The new buffer must not get the memory of the destroyed buffer, because `used` will still read
  // that memory.
  device_buffer<std::uint32_t> fresh{rt(), last(), 1};
  ticket const written = rt().submit(fresh.fill(999u));
  EXPECT_NE(fresh.address(), 0u);
  rt().pump();
  word.release();
  used.wait();
  written.wait();
  EXPECT_EQ(result[0], 123u);
}

// requirement: pinned memory stays valid for open tasks after its buffer is destroyed
TEST_P(Buffer, PinnedMemoryFreedWhileATaskUsesItStaysValid) {
  device_word result{rt(), last(), 0};
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  ticket used;
  {
    host_buffer<std::uint32_t> doomed{rt(), 1};
    doomed[0] = 321;
    used = rt().submit(result.buffer().copy_from(doomed), {.after = {held}});
  }
  host_buffer<std::uint32_t> fresh{rt(), 1};
  fresh[0] = 999;
  word.release();
  EXPECT_EQ(result.read({used}), 321u);
}

// requirement: while a kernel runs, the runtime defers the freeing of pinned memory. Otherwise the
// free would wait for the kernel, and the kernel might wait for the host
TEST_P(Buffer, FreeingPinnedMemoryDoesNotWaitForAKernel) {
  held_word ahead{rt()}, running{rt()};
  host_buffer<std::uint32_t> value{rt(), 1};
  value[0] = 0;
  ticket const before = rt().submit(ahead.launch_of(program()), {.device = first()});
  { host_buffer<std::uint32_t> destroyed{rt(), 1000}; }
  ticket const held =
      rt().submit(running.launch_of(program()), {.device = first(), .after = {before}});
  ahead.release();
  before.wait();
  ASSERT_TRUE(pumping(rt(), [&] { return running.started(); }));
  // The runtime tries deferred frees once per millisecond, so it tries several times within 3 ms.
  // If a free waited for the running kernel, the test would hang here.
  auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds{3};
  EXPECT_TRUE(pumping(rt(), [&] { return std::chrono::steady_clock::now() >= end; }));
  ticket const successor = rt().submit(program().write.with_shape({1}, {1})(value.data(), 7u),
                                       {.device = first(), .after = {held}});
  rt().pump();
  EXPECT_FALSE(successor.ready());
  running.release();
  successor.wait();
  EXPECT_EQ(value[0], 7u);
}

// requirement
TEST_P(Buffer, TooLargeBufferIsRefusedAndOthersStayIntact) {
  device_word value{rt(), last(), 6};
  auto const message = thrown<driver_error>([&] {
    device_buffer<char> huge{rt(), last(), std::size_t{1} << 50};
  });
  EXPECT_THAT(message, AllOf(HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"), HasSubstr("device")));
  device_word later{rt(), last(), 7};
  EXPECT_EQ(value.read(), 6u);
  EXPECT_EQ(later.read(), 7u);
}

// error guess: a buffer is refused if its size in bytes overflows size_t. A size that wrapped
// around would give a buffer that is too small
TEST_P(Buffer, SizeWhoseBytesOverflowIsRefused) {
  constexpr std::size_t wraps_to_8 =
      std::numeric_limits<std::size_t>::max() / sizeof(std::uint64_t) + 2;
  EXPECT_THROW((device_buffer<std::uint64_t>{rt(), last(), wraps_to_8}), error);
  EXPECT_THROW((host_buffer<std::uint64_t>{rt(), wraps_to_8}), error);
}

// requirement
TEST_P(Buffer, UnknownDeviceIsRefused) {
  device_ordinal const beyond{static_cast<unsigned>(device_count())};
  EXPECT_THAT(thrown<unknown_device>([&] {
                device_buffer<int> none{rt(), beyond, 1};
              }),
              HasSubstr(std::to_string(beyond.value)));
}

// requirement
TEST_P(Buffer, MemoryOfADeviceIsReported) {
  auto const before = rt().memory(last());
  EXPECT_GT(before.total_bytes, 0u);
  EXPECT_LE(before.free_bytes, before.total_bytes);
  device_buffer<char> some{rt(), last(), 64u << 20};
  EXPECT_LE(rt().memory(last()).free_bytes, before.free_bytes);
}

// requirement: the error of a device without enough memory says what was asked for, what is free,
// and what the buffers of the runtime have
TEST_P(Buffer, ErrorOfAFullDeviceSaysHowItsMemoryIsUsed) {
  FLOTILLA_NEED_CPU_DRIVER();
  constexpr std::size_t held = 3u << 20, limit = 8u << 20, asked = 9u << 20;
  testing::limit_memory(testing::cpu_device{rt().devices()[last().value]}, limit);
  auto const text_of_failure = [&] {
    return thrown<driver_error>([&] { device_buffer<char> huge{rt(), last(), asked}; });
  };
  EXPECT_THAT(text_of_failure(), HasSubstr("buffers of this runtime hold 0 bytes"));
  {
    device_buffer<char> some{rt(), last(), held};
    std::size_t const free = rt().memory(last()).free_bytes;
    EXPECT_THAT(text_of_failure(), AllOf(HasSubstr(std::to_string(asked) + " bytes"),
                                         HasSubstr(std::to_string(free) + " of the device's " +
                                                   std::to_string(limit) + " bytes are free"),
                                         HasSubstr("buffers of this runtime hold " +
                                                   std::to_string(held) + " bytes")));
  }
  rt().wait_idle();
  EXPECT_THAT(text_of_failure(), HasSubstr("buffers of this runtime hold 0 bytes"))
      << "a freed buffer is still counted";
}

// stress: many buffers are created and destroyed while tasks use them
TEST_P(Buffer, ManyBuffersComeAndGoInUse) {
  std::vector<ticket> done;
  host_buffer<std::uint32_t> results{rt(), 200};
  for (std::uint32_t i = 0; i < 200; ++i) {
    device_ordinal const device{i % static_cast<unsigned>(device_count())};
    device_buffer<std::uint32_t> value{rt(), device, 1 + i % 7};
    ticket const set = rt().submit(value.fill(i));
    done.push_back(
        rt().submit(program().copy.with_shape({1}, {1})(&results[i], value), {.after = {set}}));
  }
  for (ticket const& each : done) { each.wait(); }
  for (std::uint32_t i = 0; i < 200; ++i) { ASSERT_EQ(results[i], i); }
}

}  // namespace
}  // namespace flotilla::test
