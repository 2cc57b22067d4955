// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tasks as std::future.

#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>

#include <flotilla/adaptors/std_future.hpp>
#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class StdFuture : public guest_test, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    FLOTILLA_NEED_DEVICES(1);
    rt_.emplace(runtime_options{.devices = device_spec(1), .workers = GetParam()});
  }
  void TearDown() override {
    rt_.reset();
    guest_test::TearDown();
  }
  [[nodiscard]] runtime& rt() { return *rt_; }
  /// Pumps until the future is ready.
  [[nodiscard]] bool becomes_ready(std::future<void> const& future) {
    return pumping(rt(), [&] {
      return future.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
    });
  }

 private:
  std::optional<runtime> rt_;
};
INSTANTIATE_TEST_SUITE_P(workers, StdFuture, ::testing::Values(0, 2));

// requirement: the future is ready after the task has ended, and not before
TEST_P(StdFuture, IsReadyAfterTheTask) {
  test_program const kernels{rt()};
  held_word word{rt()};
  std::future<void> future = to_future(rt().submit(word.launch_of(kernels)));
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_EQ(future.wait_for(std::chrono::milliseconds{5}), std::future_status::timeout);
  word.release();
  EXPECT_TRUE(becomes_ready(future));
  future.get();
}

// requirement: the future has the error of the task
TEST_P(StdFuture, HasTheError) {
  auto const fail = [](task_context&) { throw std::runtime_error{"the reason"}; };
  std::future<void> one = to_future(rt().submit(fail));
  EXPECT_TRUE(becomes_ready(one));
  EXPECT_EQ(thrown<std::runtime_error>([&] { one.get(); }), "the reason");
}

// requirement: an empty ticket is refused
TEST_P(StdFuture, RefusesAnEmptyTicket) {
  EXPECT_THROW((void)to_future(ticket{}), invalid_argument);
}

// requirement: the future may outlive the runtime
TEST(StdFutureAlone, OutlivesTheRuntime) {
  FLOTILLA_NEED_DEVICES(1);
  std::future<void> future;
  {
    runtime rt{{.devices = device_spec(1), .workers = 0}};
    future = to_future(rt.submit([](task_context&) {}));
  }
  EXPECT_EQ(future.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  future.get();
}

}  // namespace
}  // namespace flotilla::test
