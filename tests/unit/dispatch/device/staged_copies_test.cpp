// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Copies between devices and pageable memory. Such a copy runs piece by piece. Between two pieces,
// the thread that drives the device may release the lease.

#include "dispatch/device/staged_copies.hpp"

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using bytes = std::vector<std::uint8_t>;
constexpr std::size_t piece = dispatch::staged_copies::piece_bytes;
constexpr std::size_t ring = piece * dispatch::staged_copies::pieces;

bytes pattern(std::size_t size, unsigned seed = 1) {
  bytes made(size);
  for (std::size_t i = 0; i < size; ++i) {
    made[i] = static_cast<std::uint8_t>((i * 31 + (i >> 8) * 17 + (i >> 16) + seed) % 251);
  }
  return made;
}

/// A runtime with one CPU device and no workers. So only this thread makes progress.
class StagedCopies : public guest_test {
 protected:
  static constexpr device_ordinal device{0};
  void SetUp() override {
    guest_test::SetUp();
    rt_.emplace(runtime_options{.devices = "cpu:1", .workers = 0});
  }
  void TearDown() override {
    testing::clear_faults();
    rt_.reset();
    guest_test::TearDown();
  }
  runtime& rt() { return *rt_; }
  [[nodiscard]] bool is_there(device_buffer<std::uint8_t> const& buffer, bytes const& expected) {
    bytes back(expected.size());
    rt().submit(buffer.copy_to(back)).wait();
    return back == expected;
  }
  /// Runs a download whose second piece fails while its first piece is in flight.
  void fail_a_copy_down(test_program& program, device_buffer<std::uint8_t> const& from, bytes& to) {
    held_word held{rt()};
    ticket const holds = rt().submit(held.launch_of(program));
    ASSERT_TRUE(pumping(rt(), [&] { return held.started(); }));
    testing::fail_call("cuMemcpyDtoHAsync", 2, driver_status::invalid_value);
    // The CPU device does one thing after the other, so the first piece is in flight.
    ticket const failing = rt().submit(from.copy_to(to));
    for (int i = 0; i < 20; ++i) { rt().pump(); }
    held.release();
    EXPECT_THAT(thrown<driver_error>([&] { failing.wait(); }), HasSubstr("cuMemcpyDtoHAsync"));
    holds.wait();
  }

 private:
  std::optional<runtime> rt_;
};

// requirement: copies of about the size of one piece, or of the whole ring buffer of pieces, are
// correct
TEST_F(StagedCopies, CopiesEverySizeUpAndDown) {
  for (std::size_t const size :
       {std::size_t{1}, piece - 1, piece, piece + 1, ring - 1, ring, ring + 1, 3 * ring + 7}) {
    bytes const up = pattern(size);
    device_buffer<std::uint8_t> there{rt(), device, size};
    rt().submit(there.copy_from(up)).wait();
    EXPECT_TRUE(is_there(there, up)) << size << " bytes";
  }
}

// requirement: several copies in both directions can share the ring buffer
TEST_F(StagedCopies, CarriesSeveralCopiesAtOnce) {
  constexpr unsigned copies = 5;
  std::vector<bytes> up, down;
  std::vector<device_buffer<std::uint8_t>> there;
  std::vector<ticket> done;
  for (unsigned i = 0; i < copies; ++i) {
    up.push_back(pattern(2 * piece + 1000 * i, i));
    down.emplace_back(up[i].size());
    there.emplace_back(rt(), device, up[i].size());
  }
  for (unsigned i = 0; i < copies; ++i) {
    ticket const sent = rt().submit(there[i].copy_from(up[i]));
    done.push_back(rt().submit(there[i].copy_to(down[i]), {.after = {sent}}));
  }
  for (unsigned i = copies; i-- > 0;) { done[i].wait(); }
  EXPECT_TRUE(down == up);
}

// requirement: between the pieces of a large copy, the device runs other tasks
TEST_F(StagedCopies, LetsOthersGoFirst) {
  bytes const up = pattern(64 * piece);
  device_buffer<std::uint8_t> there{rt(), device, up.size()};
  ticket const big = rt().submit(there.copy_from(up));
  rt().pump();
  bool ran = false;
  ticket const small = rt().submit([&](task_context&) { ran = true; });
  rt().pump();
  EXPECT_TRUE(ran);
  EXPECT_FALSE(big.ready()) << "64 pieces cannot be copied in two pumps";
  EXPECT_TRUE(pumping(rt(), [&] { return small.ready(); }));
  big.wait();
  EXPECT_TRUE(is_there(there, up));
}

// regression: an upload read the host's memory before the upload's predecessors had ended
TEST_F(StagedCopies, ReadsHostMemoryWhenPredecessorsAreDone) {
  test_program program{rt()};
  held_word held{rt()};
  device_buffer<std::uint8_t> first{rt(), device, pattern(1000)};
  device_buffer<std::uint8_t> second{rt(), device, 1000};
  host_buffer<std::uint8_t> between{rt(), 1000};
  std::fill(between.begin(), between.end(), std::uint8_t{0xee});
  ticket const holds = rt().submit(held.launch_of(program));
  ticket const down = rt().submit(first.copy_to(between), {.after = {holds}});
  ticket const up = rt().submit(second.copy_from(between.span()), {.after = {down}});
  ASSERT_TRUE(pumping(rt(), [&] { return held.started(); }));
  for (int i = 0; i < 20; ++i) { rt().pump(); }
  held.release();
  up.wait();
  EXPECT_TRUE(is_there(second, pattern(1000)));
}

// requirement: if the driver refuses one piece, only the copy that contains this piece fails
TEST_F(StagedCopies, FailsTheCopyWhosePieceIsRefused) {
  bytes const up = pattern(6 * piece);
  bytes down(6 * piece);
  device_buffer<std::uint8_t> bad{rt(), device, up.size()}, good{rt(), device, up.size()};
  testing::fail_call("cuMemcpyHtoDAsync", 3, driver_status::invalid_value);
  ticket const failing = rt().submit(bad.copy_from(up), {.label = "third piece"});
  ticket const other = rt().submit(good.copy_from(up));
  EXPECT_THAT(
      thrown<driver_error>([&] { failing.wait(); }),
      AllOf(HasSubstr("cuMemcpyHtoDAsync"), HasSubstr("third piece"), HasSubstr("INVALID_VALUE")));
  other.wait();
  EXPECT_TRUE(is_there(good, up));
  testing::fail_call("cuMemcpyDtoHAsync", 2, driver_status::invalid_value);
  ticket const back = rt().submit(good.copy_to(down));
  EXPECT_THAT(thrown<driver_error>([&] { back.wait(); }), HasSubstr("cuMemcpyDtoHAsync"));
  EXPECT_TRUE(is_there(good, up)) << "later copies must work";
}

// regression: a download failed while one of its pieces was in flight. Then an upload used the
// memory of this piece, and the upload's bytes were copied to the destination of the download.
TEST_F(StagedCopies, WritesNothingForACopyThatHasFailed) {
  test_program program{rt()};
  // The upload is so large that it reuses every piece of the ring buffer.
  bytes const up = pattern(4 * ring);
  bytes down(up.size(), 0xee);
  device_buffer<std::uint8_t> there{rt(), device, up};
  fail_a_copy_down(program, there, down);
  rt().submit(there.copy_from(up)).wait();
  EXPECT_EQ(std::count(down.begin(), down.end(), 0xee), static_cast<std::ptrdiff_t>(down.size()));
  EXPECT_TRUE(is_there(there, up));
}

// regression: a later copy got the slot of a failed download, and was mistaken for that download
TEST_F(StagedCopies, TakesNoCopyForAnotherThatHadItsSlot) {
  test_program program{rt()};
  bytes const large = pattern(6 * piece), small = pattern(piece, 7);
  bytes down(large.size(), 0xee);
  device_buffer<std::uint8_t> there{rt(), device, large}, other{rt(), device, small.size()};
  fail_a_copy_down(program, there, down);
  for (int round = 0; round < 8; ++round) {
    rt().submit(other.copy_from(small)).wait();
    rt().submit(program.nothing.with_shape({1}, {1})()).wait();
    EXPECT_TRUE(is_there(other, small)) << round;
  }
  EXPECT_EQ(std::count(down.begin(), down.end(), 0xee), static_cast<std::ptrdiff_t>(down.size()));
  EXPECT_TRUE(is_there(there, large));
}

// regression: a copy had a piece in flight when the context could no longer be made current. This
// copy never ended.
TEST_F(StagedCopies, EndsWhatIsUnderWayWhereTheContextIsLost) {
  for (bool const down : {false, true}) {
    bytes host = pattern(32 * piece);
    device_buffer<std::uint8_t> there{rt(), device, host.size()};
    ticket const copy =
        down ? rt().submit(there.copy_to(host)) : rt().submit(there.copy_from(host));
    rt().pump();
    ASSERT_FALSE(copy.ready()) << "32 pieces cannot be copied in one pump";
    for (unsigned call = 1; call <= 100; ++call) {
      testing::fail_call("cuCtxPushCurrent", call, driver_status::invalid_context);
    }
    EXPECT_TRUE(ended(copy)) << (down ? "down" : "up");
    testing::clear_faults();
    EXPECT_THROW(copy.wait(), driver_error);
  }
}

// requirement: a copy makes progress during a flood of launches, and while other copies run in its
// lane
TEST_F(StagedCopies, GoesOnBesideAFloodAndOtherCopies) {
  runtime_options const with_worker{.devices = "cpu:1", .workers = 1};
  runtime busy{with_worker};
  test_program program{busy};
  bytes const up = pattern(24 * piece + 77);
  device_buffer<std::uint8_t> there{busy, device, up};
  device_buffer<std::uint8_t> small{busy, device, pattern(1000, 9)};
  host_buffer<std::uint8_t> pinned{busy, 1000};
  std::atomic<bool> enough{false};
  std::thread flood{[&] {
    while (!enough) { static_cast<void>(busy.submit(program.nothing.with_shape({1}, {1})())); }
  }};
  for (int i = 0; i < 3; ++i) {
    bytes back(up.size());
    ticket const copy = busy.submit(there.copy_to(back));
    while (!copy.ready()) {
      std::fill(pinned.begin(), pinned.end(), std::uint8_t{0});
      busy.submit(small.copy_to(pinned)).wait();
      ASSERT_TRUE(std::equal(pinned.begin(), pinned.end(), pattern(1000, 9).begin()));
    }
    copy.wait();
    EXPECT_TRUE(back == up);
  }
  enough = true;
  flood.join();
}

// requirement: copies work even if no pinned memory can be allocated after the runtime has started
TEST_F(StagedCopies, NeedOnlyThePinnedMemoryThatTheRuntimeAllocatesAtItsStart) {
  bytes const up = pattern(3 * piece + 5);
  device_buffer<std::uint8_t> there{rt(), device, up.size()};
  for (unsigned call = 1; call <= 40; ++call) {
    testing::fail_call("cuMemHostAlloc", call, driver_status::out_of_memory);
  }
  rt().submit(there.copy_from(up)).wait();
  testing::clear_faults();
  EXPECT_TRUE(is_there(there, up));
}

// requirement: a runtime that cannot allocate the pinned memory for copies is not created
TEST_F(StagedCopies, NoRuntimeStartsWithoutItsPinnedMemory) {
  for (unsigned call = 1; call <= 40; ++call) {
    testing::fail_call("cuMemHostAlloc", call, driver_status::out_of_memory);
  }
  EXPECT_THAT(
      thrown<driver_error>([&] { runtime const other{{.devices = "cpu:1", .workers = 0}}; }),
      HasSubstr("cuMemHostAlloc"));
  testing::clear_faults();
}

// error guess: the driver refuses every write of a completion number. Copies must still end.
TEST_F(StagedCopies, GetsThroughWhereNumbersCannotBeWritten) {
  bytes const up = pattern(ring + 3);
  device_buffer<std::uint8_t> there{rt(), device, up.size()};
  for (unsigned call = 1; call <= 20; ++call) {
    testing::fail_call("cuStreamWriteValue64", call, driver_status::not_supported);
  }
  rt().submit(there.copy_from(up)).wait();
  EXPECT_TRUE(is_there(there, up));
}

}  // namespace
}  // namespace flotilla::test
