// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Copies that a copy engine gets many at a time.

#include <utility>

#include "unit/dispatch/device/kernel_copies_fixture.hpp"

namespace flotilla::test {
namespace {

constexpr char batch_call[] = "cuMemcpyBatchAsync";

class EngineBatches : public kernel_copies_test {
 protected:
  static constexpr unsigned count = 40;  // copies; more than min_expected, fewer than max_copies
  static constexpr std::size_t size = 40'000;

  /// Submits a copy up, or a copy down, of each piece.
  struct pieces {
    explicit pieces(runtime& rt)
        : up{rt, count * size}, down{rt, count * size}, there{rt, device, count * size} {
      for (std::size_t i = 0; i < up.size(); ++i) { up[i] = small_copies::pattern(i); }
      std::fill(down.begin(), down.end(), small_copies::untouched);
      rt.submit(there.fill(small_copies::untouched)).wait();
    }
    [[nodiscard]] memory_op copy_up(std::size_t i) {
      return there.subspan(i * size, size).copy_from(up.subspan(i * size, size));
    }
    [[nodiscard]] memory_op copy_down(std::size_t i) {
      return there.subspan(i * size, size).copy_to(down.subspan(i * size, size));
    }
    /// Returns whether the piece has arrived. Fails if a part of it has.
    [[nodiscard]] bool arrived(std::size_t i) const {
      auto const begin = down.begin() + static_cast<std::ptrdiff_t>(i * size);
      auto const source = up.begin() + static_cast<std::ptrdiff_t>(i * size);
      bool const all = std::equal(begin, begin + static_cast<std::ptrdiff_t>(size), source);
      auto const clean = static_cast<std::size_t>(
          std::count(begin, begin + static_cast<std::ptrdiff_t>(size), small_copies::untouched));
      EXPECT_TRUE(all || clean == size) << "piece " << i << " has arrived in part";
      return all;
    }
    [[nodiscard]] std::size_t arrivals() const {
      std::size_t sum = 0;
      for (std::size_t i = 0; i < count; ++i) { sum += arrived(i) ? 1 : 0; }
      return sum;
    }
    host_buffer<std::uint8_t> up, down;
    device_buffer<std::uint8_t> there;
  };

  /// Submits all copies of one direction.
  template <class Copy>
  static std::vector<ticket> submit_all(runtime& rt, Copy copy, task_options const& options = {}) {
    std::vector<ticket> made;
    for (std::size_t i = 0; i < count; ++i) { made.push_back(rt.submit(copy(i), options)); }
    return made;
  }
};

// requirement
TEST_F(EngineBatches, CopyEveryByteInBothDirections) {
  for (int const workers : {0, 2}) {
    runtime rt = make({.workers = workers});
    pieces all{rt};
    for (ticket const& each : submit_all(rt, [&](auto i) { return all.copy_up(i); })) {
      each.wait();
    }
    for (ticket const& each : submit_all(rt, [&](auto i) { return all.copy_down(i); })) {
      each.wait();
    }
    EXPECT_EQ(all.arrivals(), count);
  }
}

// requirement: one call for all copies of a direction, and no other
TEST_F(EngineBatches, AFloodIsAFewCalls) {
  runtime rt = make();
  pieces all{rt};
  testing::fail_call(upload_call, 1, driver_status::invalid_value);
  testing::fail_call(batch_call, 2, driver_status::invalid_value);
  std::uint64_t const before = batches(rt);
  auto const up = submit_all(rt, [&](auto i) { return all.copy_up(i); });
  rt.wait_idle();
  EXPECT_EQ(batches(rt), before) << "a kernel has copied";
  EXPECT_EQ(rt.counters(device).failed, 0u);
  testing::clear_faults();
}

// requirement: a chain of a copy up, a kernel and a copy down for each piece
TEST_F(EngineBatches, RunInOrderWithKernels) {
  for (int const workers : {0, 2}) {
    runtime rt = make({.workers = workers});
    test_program const program{rt};
    small_copies::pipeline(rt, program, device, 100, 16384, 3);  // 64 KiB
  }
}

// requirement: chunks of an array, and copies in any other order, arrive where they belong
TEST_F(EngineBatches, AdjacentAndScatteredCopiesAreCorrect) {
  for (std::size_t const step : {std::size_t{1}, std::size_t{7}, std::size_t{count - 1}}) {
    runtime rt = make();
    pieces all{rt};
    auto const place = [&](std::size_t i) { return i * step % count; };
    static_cast<void>(submit_all(rt, [&](auto i) { return all.copy_up(place(i)); }));
    rt.wait_idle();
    static_cast<void>(submit_all(rt, [&](auto i) { return all.copy_down(place(i)); }));
    rt.wait_idle();
    EXPECT_EQ(all.arrivals(), count);
  }
}

// requirement: if the driver refuses a batch, each copy gets its own status
TEST_F(EngineBatches, ARefusedBatchIsCopiedOneByOne) {
  runtime rt = make();
  pieces all{rt};
  testing::fail_call(batch_call, 1, driver_status::invalid_value);
  testing::fail_call(upload_call, 3, driver_status::invalid_value);
  auto const up = submit_all(rt, [&](auto i) { return all.copy_up(i); });
  std::size_t failed = 0;
  for (ticket const& each : up) {
    try {
      each.wait();
    } catch (driver_error const& error) {
      ++failed;
      EXPECT_THAT(error.what(), AllOf(StartsWith(upload_call), HasSubstr("40000 bytes")));
    }
  }
  EXPECT_EQ(failed, 1u);
  testing::clear_faults();
  for (ticket const& each : submit_all(rt, [&](auto i) { return all.copy_down(i); })) {
    each.wait();
  }
  EXPECT_EQ(all.arrivals(), count - 1);
}

// requirement
TEST_F(EngineBatches, CancelledCopiesDoNotRun) {
  runtime rt = make();
  pieces all{rt};
  auto const up = submit_all(rt, [&](auto i) { return all.copy_up(i); });
  up[3].cancel();
  up[17].cancel();
  rt.wait_idle();
  EXPECT_THROW(up[3].wait(), task_cancelled);
  for (ticket const& each : submit_all(rt, [&](auto i) { return all.copy_down(i); })) {
    each.wait();
  }
  EXPECT_EQ(all.arrivals(), count - 2);
  EXPECT_FALSE(all.arrived(3));
  EXPECT_FALSE(all.arrived(17));
}

// requirement: copies that can start now do not wait for the predecessors of others
TEST_F(EngineBatches, CopiesWithoutPredecessorsDoNotWait) {
  runtime rt = make({.devices = "cpu:2", .workers = 2});
  test_program const program{rt};
  pieces all{rt};
  held_word held{rt};
  ticket const first = rt.submit(held.launch_of(program), {.device = device_ordinal{1}});
  ASSERT_TRUE(eventually([&] { return held.started(); }));
  std::vector<ticket> free, bound;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 8 == 7) {
      bound.push_back(rt.submit(all.copy_up(i), {.after = {first}}));
    } else {
      free.push_back(rt.submit(all.copy_up(i)));
    }
  }
  free.front().wait();
  for (ticket const& each : bound) { EXPECT_FALSE(each.ready()); }
  held.release();
  for (ticket const& each : bound) { each.wait(); }
  for (ticket const& each : free) { each.wait(); }
}

// boundary: smaller copies are kernels; copies of a few tasks, and copies without batches, are not
// collected
TEST_F(EngineBatches, OthersAreNotCollected) {
  testing::fail_call(batch_call, 1, driver_status::invalid_value);
  auto const run = [&](runtime_options options, task_options const& of, std::size_t bytes,
                       unsigned copies) {
    runtime rt = make(std::move(options));
    host_buffer<std::uint8_t> up{rt, copies * bytes};
    device_buffer<std::uint8_t> there{rt, device, copies * bytes};
    for (unsigned i = 0; i < copies; ++i) {
      rt.post(there.subspan(i * bytes, bytes).copy_from(up.subspan(i * bytes, bytes)), of);
    }
    rt.wait_idle();
  };
  run({}, {}, (std::size_t{32} << 10) - 1, count);
  run({}, {}, size, 15);
  run({}, {.batch = false}, size, count);
  run({.fuse_launches = false}, {}, size, count);
  // The rule is still there, so no batch was enqueued.
  runtime rt = make();
  pieces all{rt};
  testing::fail_call(upload_call, 1, driver_status::invalid_value);
  std::size_t failed = 0;
  for (ticket const& each : submit_all(rt, [&](auto i) { return all.copy_up(i); })) {
    try {
      each.wait();
    } catch (driver_error const&) { ++failed; }
  }
  EXPECT_EQ(failed, 1u) << "the first batch was refused";
}

}  // namespace
}  // namespace flotilla::test
