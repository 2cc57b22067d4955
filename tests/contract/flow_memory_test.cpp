// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows whose data do not fit into the memory of a device.

#include <thread>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/flow_fixture.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class FlowMemory : public flow_test {
 protected:
  static constexpr std::size_t size = 4096;  // objects of each datum
  static constexpr std::size_t bytes = size * sizeof(std::uint32_t);

  /// A flow that may have memory for `count` data on each device.
  [[nodiscard]] flow limited(std::size_t count) {
    return flow{rt(), {.memory_limit = count * bytes}};
  }
  [[nodiscard]] static std::vector<word_data> make(flow& owner, std::vector<words>& on_host) {
    std::vector<word_data> made;
    for (words& each : on_host) {
      made.emplace_back(owner, each, "data " + std::to_string(made.size()));
    }
    return made;
  }
  [[nodiscard]] static std::vector<words> contents(std::size_t count) {
    std::vector<words> made;
    for (std::uint32_t i = 0; i < count; ++i) { made.push_back(iota(size, i * 1000)); }
    return made;
  }
};
FLOTILLA_CONTRACT(FlowMemory);

// requirement: tasks over more data than the limit allows are right, and the limit holds
TEST_P(FlowMemory, DataAreEvicted) {
  flow small = limited(3);
  std::vector<words> host = contents(12), serial = host;
  std::vector<word_data> all = make(small, host);
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      small.post(stir(all[i], round), {.device = last()});
      stir_on_host(serial[i].data(), size, round);
      EXPECT_LE(small.counters(last()).allocated_bytes, 3 * bytes);
    }
  }
  flow_counters const seen = small.counters(last());
  EXPECT_GE(seen.misses, 24u);
  EXPECT_EQ(seen.misses + seen.hits, 3u * 12);
  EXPECT_EQ(seen.evictions, seen.misses - 3);
  EXPECT_EQ(seen.bytes_from_host, seen.misses * bytes);
  EXPECT_GE(seen.write_backs, seen.evictions);
  EXPECT_EQ(seen.bytes_to_host, seen.write_backs * bytes);
  for (std::size_t i = 0; i < all.size(); ++i) { EXPECT_EQ(on_host(all[i]), serial[i]); }
}

// requirement: data that the host has too are evicted without a copy, and before other data
TEST_P(FlowMemory, CleanDataGoFirst) {
  flow small = limited(4);
  std::vector<words> host = contents(8);
  std::vector<word_data> all = make(small, host);
  std::vector<std::uint32_t> out(size);
  word_data sum{small, {size}, "sum"};
  small.post(mix(sum, all[0], all[1], 0), {.device = last()});
  for (std::size_t i = 2; i < all.size(); ++i) {
    small.post(mix(sum, all[i], all[i - 1], 0), {.device = last()});
  }
  flow_counters const seen = small.counters(last());
  EXPECT_EQ(seen.evictions, 8u + 1 - 4);
  EXPECT_EQ(seen.write_backs, 0u) << "`sum` is in use, and all other data are clean";
  mix_on_host(out.data(), host[7].data(), host[6].data(), size, 0);
  EXPECT_EQ(on_host(sum), out);
}

// regression: each time that a submit waited for a place in the window, its uses counted again
TEST_P(FlowMemory, FullWindowsDoNotCountUsesAgain) {
  runtime_options few = options();
  few.window = 64;
  runtime other{few};
  flow own{other};
  auto const stir_it = other.load(flow_kernels).kernel(flow_kernels.stir_words).over(size, 32);
  words host = iota(size);
  word_data x{own, host, "x"};
  constexpr std::uint32_t tasks = sanitized ? 300 : 3000;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    own.post(stir_it(update(x), static_cast<std::uint32_t>(size), i), {.device = last()});
  }
  EXPECT_EQ(own.counters(last()).misses, 1u);
  EXPECT_EQ(own.counters(last()).hits, tasks - 1);
  other.wait_idle();
}

// requirement: data that were used lately stay
TEST_P(FlowMemory, DataInUseStay) {
  flow small = limited(4);
  std::vector<words> host = contents(9);
  std::vector<word_data> all = make(small, host);
  word_data sum{small, {size}, "sum"};
  for (std::size_t i = 1; i < all.size(); ++i) {
    small.post(mix(sum, all[0], all[i], 0), {.device = last()});
    EXPECT_TRUE(all[0].is_valid_on(last())) << "after " << i;
  }
  EXPECT_EQ(small.counters(last()).bytes_from_host, 9 * bytes);
  rt().wait_idle();  // copies may still use `host`
}

// requirement: a block is used for other sizes too
TEST_P(FlowMemory, SizesMayDiffer) {
  flow small = limited(3);
  words serial_large = iota(2 * size), serial_tiny = iota(10);
  for (std::uint32_t round = 0; round < 4; ++round) {
    words host_large = serial_large, host_tiny = serial_tiny;
    word_data large{small, host_large, "large"}, tiny{small, host_tiny, "tiny"};
    std::vector<words> host = contents(3);
    std::vector<word_data> all = make(small, host);
    small.post(stir(large, round), {.device = last()});
    for (word_data& each : all) { small.post(stir(each, round), {.device = last()}); }
    small.post(stir(tiny, round), {.device = last()});
    small.post(stir(large, round), {.device = last()});
    for (int i = 0; i < 2; ++i) { stir_on_host(serial_large.data(), serial_large.size(), round); }
    stir_on_host(serial_tiny.data(), serial_tiny.size(), round);
    EXPECT_EQ(on_host(large), serial_large);
    EXPECT_EQ(on_host(tiny), serial_tiny);
    for (std::size_t i = 0; i < all.size(); ++i) {
      words right = iota(size, static_cast<std::uint32_t>(i) * 1000);
      stir_on_host(right.data(), size, round);
      EXPECT_EQ(on_host(all[i]), right);
    }
    EXPECT_LE(small.counters(last()).allocated_bytes, 3 * bytes);
  }
}

// requirement: a task whose data can never fit is refused with bytes and names, and harms nobody
TEST_P(FlowMemory, TasksThatNeverFitAreRefused) {
  flow small = limited(2);
  std::vector<words> host = contents(3);
  std::vector<word_data> all = make(small, host);
  small.post(stir(all[0], 1), {.device = last()});
  EXPECT_THAT(
      thrown<driver_error>([&] {
        small.post(mix(all[0], all[1], all[2], 0), {.device = last(), .label = "too large"});
      }),
      AllOf(HasSubstr("task 'too large': its data need " + std::to_string(3 * bytes) + " bytes"),
            HasSubstr("memory_limit is " + std::to_string(2 * bytes)),
            HasSubstr("device " + std::to_string(last().value)), HasSubstr("data 'data ")));
  small.post(stir(all[0], 2), {.device = last()});
  small.post(stir(all[1], 3), {.device = last()});
  words right = iota(size);
  stir_on_host(right.data(), size, 1);
  stir_on_host(right.data(), size, 2);
  EXPECT_EQ(on_host(all[0]), right);
  rt().wait_idle();  // copies may still use `host`
  EXPECT_THAT(thrown<invalid_argument>([&] { flow bad(rt(), {.memory_limit = 0}); }),
              HasSubstr("memory_limit is 0"));
}

// requirement: data that are lost stay lost when they are evicted
TEST_P(FlowMemory, LostDataStayLost) {
  flow small = limited(2);
  std::vector<words> host = contents(4);
  std::vector<word_data> all = make(small, host);
  ticket const failing = small.submit(
      uses(update(all[0])),
      [](task_context&, view<std::uint32_t>) { throw std::runtime_error("lost data 0"); },
      {.device = last()});
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::size_t i = 1; i < all.size(); ++i) {
      small.post(stir(all[i], round), {.device = last()});
    }
  }
  EXPECT_THROW(failing.wait(), std::runtime_error);
  EXPECT_FALSE(all[0].is_valid_on(last()));
  EXPECT_THAT(thrown<dependency_failed>([&] { small.submit(stir(all[0], 1)).wait(); }),
              EndsWith("lost data 0"));
  EXPECT_THAT(thrown<dependency_failed>([&] { static_cast<void>(all[0].host()); }),
              EndsWith("lost data 0"));
  EXPECT_THROW(small.post(mix(all[0], all[1], all[2], 5), {.device = first()}), driver_error);
  small.post(uses(write(all[0])), [](task_context&, view<std::uint32_t>) {}, {.device = first()});
  EXPECT_NO_THROW(static_cast<void>(all[0].host()));
  rt().wait_idle();  // copies to the host may still use `host`
}

// requirement: threads with little memory all make progress
TEST_P(FlowMemory, ThreadsShareLittleMemory) {
  flow small = limited(4);
  constexpr std::size_t threads = 4, each = 4;
  std::vector<words> host = contents(threads * each), serial = host;
  std::vector<word_data> all = make(small, host);
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 40; ++i) {
        std::size_t const a = t * each + i % each, b = t * each + (i + 1) % each,
                          c = t * each + (i + 2) % each;
        small.post(mix(all[a], all[b], all[c], i), {.device = last()});
        mix_on_host(serial[a].data(), serial[b].data(), serial[c].data(), size, i);
      }
    });
  }
  for (std::thread& thread : running) { thread.join(); }
  for (std::size_t i = 0; i < all.size(); ++i) { EXPECT_EQ(on_host(all[i]), serial[i]) << i; }
}

// requirement: without a limit, a full device makes the flow evict data
TEST_P(FlowMemory, FullDevicesMakeRoom) {
  FLOTILLA_NEED_CPU_DRIVER();
  device const on = rt().devices()[last().value];
  flow unlimited{rt()};
  std::vector<words> host = contents(12), serial = host;
  std::vector<word_data> all = make(unlimited, host);
  memory_info const memory = rt().memory(last());
  std::size_t const in_use = memory.total_bytes - memory.free_bytes;
  testing::limit_memory(testing::cpu_device{on}, in_use + 4 * bytes);
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      unlimited.post(stir(all[i], round), {.device = last()});
      stir_on_host(serial[i].data(), size, round);
    }
  }
  EXPECT_GT(unlimited.counters(last()).evictions, 0u);
  word_data huge{unlimited, {8 * size}, "huge"};
  EXPECT_THAT(thrown<driver_error>([&] {
                unlimited.post(uses(write(huge)), [](task_context&, view<std::uint32_t>) {},
                               {.device = last()});
              }),
              HasSubstr("data 'huge' need " + std::to_string(8 * bytes)));
  for (std::size_t i = 0; i < all.size(); ++i) { EXPECT_EQ(on_host(all[i]), serial[i]); }
  testing::clear_faults();
}

// regression: a full device refused a task that needs a larger block than the flow has there, and
// evicted nothing
TEST_P(FlowMemory, FullDevicesMakeRoomForLargerData) {
  FLOTILLA_NEED_CPU_DRIVER();
  flow unlimited{rt()};
  words host_small = iota(3 * size), host_large = iota(4 * size, 7);
  word_data small{unlimited, host_small, "small"}, large{unlimited, host_large, "large"};
  memory_info const memory = rt().memory(last());
  std::size_t const in_use = memory.total_bytes - memory.free_bytes;
  testing::limit_memory(testing::cpu_device{rt().devices()[last().value]}, in_use + 6 * bytes);
  unlimited.submit(stir(small, 1), {.device = last()}).wait();
  rt().wait_idle();
  unlimited.post(stir(large, 2), {.device = last()});
  words right_small = iota(3 * size), right_large = iota(4 * size, 7);
  stir_on_host(right_small.data(), right_small.size(), 1);
  stir_on_host(right_large.data(), right_large.size(), 2);
  EXPECT_EQ(on_host(large), right_large);
  EXPECT_EQ(on_host(small), right_small);
  EXPECT_EQ(unlimited.counters(last()).evictions, 1u);
  testing::clear_faults();
}

// regression: after one failed allocation, a task that exceeds the limit made `submit` loop forever
TEST_P(FlowMemory, TasksThatNeverFitAreRefusedAfterAFailedAllocation) {
  FLOTILLA_NEED_CPU_DRIVER();
  flow small = limited(2);
  word_data a{small, {size}, "a"}, b{small, {size}, "b"}, c{small, {size}, "c"};
  testing::fail_call("cuMemAllocAsync", 1, driver_status::out_of_memory);
  EXPECT_THAT(thrown<driver_error>([&] {
                small.post(uses(write(a), write(b), write(c)),
                           [](task_context&, auto, auto, auto) {}, {.device = last()});
              }),
              HasSubstr("memory_limit is " + std::to_string(2 * bytes)));
  testing::clear_faults();
}

// requirement: above the high watermark, data are copied to the host before memory is short
TEST_P(FlowMemory, WatermarksCopyAhead) {
  std::vector<words> host = contents(6);
  flow eager{rt(), {.memory_limit = 8 * bytes, .low_watermark = 0.25, .high_watermark = 0.5}};
  std::vector<word_data> all = make(eager, host);
  auto const change = [&](std::size_t i) { eager.post(stir(all[i], 1), {.device = last()}); };
  for (std::size_t i = 0; i < 4; ++i) { change(i); }
  EXPECT_EQ(eager.counters(last()).write_backs, 0u) << "not above the high watermark";
  for (std::size_t i = 4; i < 6; ++i) { change(i); }
  // The fifth of eight takes more than half; three of five must go to leave a quarter of eight.
  EXPECT_EQ(eager.counters(last()).write_backs, 4u);
  EXPECT_EQ(eager.counters(last()).evictions, 0u);
  for (std::size_t i = 0; i < 6; ++i) { EXPECT_EQ(on_host(all[i]), stirred(contents(6)[i], 1, 1)); }
}

}  // namespace
}  // namespace flotilla::test
