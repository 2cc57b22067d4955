// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A runtime with one isolated device and one device in this process: one of them faults.
#include <chrono>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "support/child.hpp"
#include "unit/isolation/mixed_fixture.hpp"

namespace flotilla::test {
namespace {

class MixedLoss : public mixed_fixture {};
INSTANTIATE_TEST_SUITE_P(arrangements, MixedLoss,
                         ::testing::Combine(::testing::Values(0u, 1u), ::testing::Values(0, 2)));

// requirement: if the worker ends, the other device works on, nothing is lost, and copies between
// the two wait for the next worker
TEST_P(MixedLoss, AKilledWorkerDoesNotTouchTheOtherDevice) {
  runtime rt{options()};
  test_program const program{rt};
  device_word kept{rt, isolated(), 11}, busy{rt, here()}, copy{rt, here()};
  device_word sum{rt, isolated()};
  constexpr word rounds = 5, tasks = 400;
  for (word round = 0; round < rounds; ++round) {
    std::vector<ticket> copies;
    for (word i = 0; i < tasks; ++i) {
      rt.post(program.add.with_shape({1}, {1})(busy.buffer(), 1u));
      if (i % 40 == 0) {
        copies.push_back(rt.submit(copy.buffer().copy_from(kept.buffer())));
        copies.push_back(rt.submit(sum.buffer().copy_from(busy.buffer())));
      }
      if (i == tasks / 2) { testing::kill_worker(rt, isolated()); }
    }
    for (ticket const& each : copies) { each.wait(); }
    rt.wait_idle();
    EXPECT_EQ(busy.read(), (round + 1) * tasks);
    EXPECT_EQ(copy.read(), 11u);
    EXPECT_EQ(kept.read(), 11u);
    EXPECT_EQ(health(rt, here()), device_health::ok);
  }
}

// requirement: a copy that waits for a lost device can be cancelled, and later ones go on
TEST_P(MixedLoss, ACopyThatWaitsForALostDeviceCanBeCancelled) {
  runtime_options with = options();
  with.restart = {.intensity = 100, .back_off = std::chrono::milliseconds{500}};
  runtime rt{std::move(with)};
  device_word there{rt, isolated(), 6}, here_too{rt, here()};
  for (int i = 0; i < 2; ++i) {  // the second loss waits
    testing::kill_worker(rt, isolated());
    ASSERT_TRUE(eventually([&] { return health(rt, isolated()) != device_health::ok; }));
    if (i == 0) { EXPECT_EQ(there.read(), 6u); }
  }
  ticket const waits = rt.submit(here_too.buffer().copy_from(there.buffer()));
  EXPECT_TRUE(waits.cancel());
  EXPECT_THROW(waits.wait(), task_cancelled);
  rt.submit(here_too.buffer().copy_from(there.buffer())).wait();
  EXPECT_EQ(here_too.read(), 6u);
}

// requirement: a copy from a device in quarantine fails, and the other device works on
TEST_P(MixedLoss, ACopyFromADeviceInQuarantineFails) {
  // In a process of its own, because the device stays lost.
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime_options with = options();
    with.restart.intensity = 0;
    runtime rt{std::move(with)};
    test_program const program{rt};
    device_word there{rt, isolated(), 6}, here_too{rt, here()};
    testing::kill_worker(rt, isolated());
    ASSERT_TRUE(eventually([&] { return health(rt, isolated()) != device_health::ok; }));
    ticket const lost = rt.submit(here_too.buffer().copy_from(there.buffer()));
    EXPECT_THROW(lost.wait(), device_fault);
    EXPECT_EQ(health(rt, isolated()), device_health::quarantined);
    rt.submit(program.add.with_shape({1}, {1})(here_too.buffer(), 2u)).wait();
    EXPECT_EQ(here_too.read(), 2u);
  });
}

// requirement: a fault of the device in this process poisons the runtime
TEST_P(MixedLoss, AFaultInThisProcessPoisons) {
  FLOTILLA_NEED_CPU_DRIVER();
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{options()};
    test_program const program{rt};
    device_word word_there{rt, isolated()};
    launch const trap = program.loaded.kernel<>("trap_now").with_shape({1}, {1})();
    EXPECT_THROW(rt.submit(trap, {.device = here()}).wait(), poisoned);
    EXPECT_THROW(rt.post(program.add.with_shape({1}, {1})(word_there.buffer(), 1u)), poisoned);
  });
}

// requirement: a fault of the isolated device does not poison the runtime
TEST_P(MixedLoss, AFaultInTheWorkerIsContained) {
  FLOTILLA_NEED_CPU_DRIVER();
  runtime rt{options()};
  test_program const program{rt};
  device_word busy{rt, here()}, kept{rt, isolated(), 3};
  launch const trap = program.loaded.kernel<>("trap_now").with_shape({1}, {1})();
  EXPECT_THROW(rt.submit(trap, {.device = isolated()}).wait(), device_fault);
  rt.submit(program.add.with_shape({1}, {1})(busy.buffer(), 2u)).wait();
  EXPECT_EQ(busy.read(), 2u);
  EXPECT_EQ(kept.read(), 3u);
}

}  // namespace
}  // namespace flotilla::test
