// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Several threads share the copies between pageable and pinned memory.

#include "dispatch/device/shared_copy.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "base/pause.hpp"
#include "base/processors.hpp"
#include "support/child.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"
#include "support/scale.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using dispatch::shared_copy;
using bytes = std::vector<std::byte>;

bytes pattern(std::size_t size, std::size_t seed) {
  bytes made(size);
  for (std::size_t i = 0; i < size; ++i) {
    made[i] = std::byte((i * 31 + (i >> 8) * 17 + (i >> 16) + seed) % 251);
  }
  return made;
}

/// Threads that call `share` until the end of the block.
template <class Share>
class helper_threads {
 public:
  helper_threads(int count, Share share) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, share] {
        while (!over_) {
          if (share()) { ++shared_; }
          std::this_thread::yield();
        }
      });
    }
  }
  ~helper_threads() {
    over_ = true;
    for (std::thread& each : threads_) { each.join(); }
  }
  /// How often `share` has returned true.
  [[nodiscard]] std::size_t shared() const { return shared_; }

 private:
  std::atomic<bool> over_{false};
  std::atomic<std::size_t> shared_{0};
  std::vector<std::thread> threads_;
};

// stress: each copy is complete when it is finished, although other threads take part
TEST(SharedCopy, IsCompleteWhenItIsFinished) {
  shared_copy copy;
  helper_threads const helpers{3, [&copy] { return copy.copy_step(); }};
  std::size_t round = 0;
  auto const copy_once = [&] {
    std::size_t const size = (round % 5) * shared_copy::step_bytes + 1 + round * 37 % 5000;
    bytes const from = pattern(size, round);
    bytes to(size);
    copy.begin(to.data(), from.data(), size);
    if (round % 3 != 0) {
      while (copy.copy_step()) {}
    }
    while (!copy.is_finished()) { std::this_thread::yield(); }
    ASSERT_TRUE(to == from) << round;
    ++round;
  };
  for (std::size_t left = scaled(3000, 100); left > 0; --left) { copy_once(); }
  EXPECT_TRUE(eventually([&] {
    copy_once();
    return helpers.shared() != 0;
  }));
}

// stress: after a copy was abandoned and is finished, no thread writes its memory
TEST(SharedCopy, NoThreadWritesAfterAnAbandonedCopyIsFinished) {
  shared_copy copy;
  helper_threads const helpers{3, [&copy] { return copy.copy_step(); }};
  bytes const from(10 * shared_copy::step_bytes, std::byte{1});
  for (std::size_t left = scaled(2000, 100); left > 0; --left) {
    bytes to(from.size());
    copy.begin(to.data(), from.data(), from.size());
    copy.copy_step();
    copy.abandon();
    while (!copy.is_finished()) { base::pause(); }
    std::fill(to.begin(), to.end(), std::byte{2});
    for (int i = 0; i < 20; ++i) { base::pause(); }
    ASSERT_EQ(std::count(to.begin(), to.end(), std::byte{2}),
              static_cast<std::ptrdiff_t>(to.size()));
  }
}

class SharedStagedCopies : public guest_test {
 protected:
  static constexpr device_ordinal device{0};
  static constexpr std::size_t size = (sanitized ? 1 : 4) * (std::size_t{1} << 20) + 77;

  void TearDown() override {
    testing::clear_faults();
    guest_test::TearDown();
  }
  /// Copies to the device and back, and checks every byte.
  static void copy_both_ways(runtime& rt, std::size_t seed) {
    bytes const up = pattern(size, seed);
    bytes down(size);
    device_buffer<std::byte> there{rt, device, size};
    ticket const sent = rt.submit(there.copy_from(up));
    rt.submit(there.copy_to(down), {.after = {sent}}).wait();
    ASSERT_TRUE(down == up);
  }
  static bool share(runtime& rt) { return inside(rt).devices.share_copies(); }
};

// requirement: threads with nothing to do take part in the copies of a device that another thread
// drives
TEST_F(SharedStagedCopies, OtherThreadsTakePart) {
  runtime rt{{.devices = "cpu:1", .workers = 0}};
  helper_threads const helpers{2, [&rt] { return share(rt); }};
  std::size_t seed = 0;
  EXPECT_TRUE(eventually([&] {
    copy_both_ways(rt, ++seed);
    return seed > 3 && helpers.shared() != 0;
  }));
}

// requirement: a large copy asks for copy helpers, which end after the copy
TEST_F(SharedStagedCopies, LargeCopiesHaveHelpers) {
  if (base::usable_processors() < 2) { GTEST_SKIP() << "needs 2 processors"; }
  runtime rt{{.devices = "cpu:1", .workers = 1}};
  EXPECT_EQ(inside(rt).workers.copy_helpers(), 0);
  bytes const up = pattern(16 * size, 1);
  device_buffer<std::byte> there{rt, device, up.size()};
  ticket const sent = rt.submit(there.copy_from(up));
  EXPECT_TRUE(eventually([&] { return inside(rt).workers.copy_helpers() != 0 || sent.ready(); }));
  EXPECT_FALSE(sent.ready()) << "the copy has asked for no helper";
  sent.wait();
  EXPECT_TRUE(eventually([&] { return inside(rt).workers.copy_helpers() == 0; }));
  copy_both_ways(rt, 2);
}

// requirement: a small copy asks for no helper, and single-threaded mode has none
TEST_F(SharedStagedCopies, OthersHaveNone) {
  for (int const workers : {0, 1}) {
    runtime rt{{.devices = "cpu:1", .workers = workers}};
    std::size_t const bytes_each = workers == 0 ? size : 100'000;
    bytes const up = pattern(bytes_each, 1);
    device_buffer<std::byte> there{rt, device, up.size()};
    ticket const sent = rt.submit(there.copy_from(up));
    while (!sent.ready()) { EXPECT_EQ(inside(rt).workers.copy_helpers(), 0); }
  }
}

// stress: a copy whose context is lost ends only when no thread uses its memory
TEST_F(SharedStagedCopies, NoThreadUsesTheMemoryOfACopyThatHasFailed) {
  for (std::size_t round = scaled(30, 3); round > 0; --round) {
    bool const is_download = round % 2 == 0;
    runtime rt{{.devices = "cpu:1", .workers = 0}};
    helper_threads const helpers{2, [&rt] { return share(rt); }};
    device_buffer<std::byte> there{rt, device, 8 * size};
    auto host = std::make_unique<bytes>(8 * size);
    ticket const copy =
        is_download ? rt.submit(there.copy_to(*host)) : rt.submit(there.copy_from(*host));
    rt.pump();
    for (unsigned call = 1; call <= 100; ++call) {
      testing::fail_call("cuCtxPushCurrent", call, driver_status::invalid_context);
    }
    EXPECT_TRUE(ended(copy));
    host.reset();
    testing::clear_faults();
  }
}

// requirement: on a poisoned driver no thread takes part, because all tasks count as ended
TEST_F(SharedStagedCopies, NoThreadTakesPartAfterAFault) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{{.devices = "cpu:1", .workers = 0}};
    test_program const program{rt};
    bytes const up = pattern(64 * size, 1);
    device_buffer<std::byte> there{rt, device, up.size()};
    ticket const sent = rt.submit(there.copy_from(up));
    rt.pump();
    ASSERT_FALSE(sent.ready());
    testing::fault_kernel(testing::cpu_device{0}, 1, driver_status::illegal_address);
    ticket const trap = rt.submit(program.nothing.with_shape({1}, {1})());
    EXPECT_THROW(trap.wait(), poisoned);
    EXPECT_FALSE(share(rt));
  });
}

}  // namespace
}  // namespace flotilla::test
