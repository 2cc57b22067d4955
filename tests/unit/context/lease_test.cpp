// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/lease.hpp"

#include <flotilla/error/error.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "unit/context/context_test.hpp"

namespace flotilla::context {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

class Lease : public context_test {
 protected:
  context_handle context_{api(), cpu(), {}};
  lease_gate gate_{context_};

  void wait_until_wanted() const {
    while (!gate_.wanted()) { std::this_thread::yield(); }
  }
};

// requirement
TEST_F(Lease, HasOneHolderAtATime) {
  {
    std::optional<lease> const mine = gate_.try_take();
    ASSERT_TRUE(mine.has_value());
    EXPECT_TRUE(gate_.held());
    EXPECT_TRUE(gate_.held_by_this_thread());
    EXPECT_FALSE(gate_.try_take().has_value());
    std::thread{[&] {
      EXPECT_FALSE(gate_.held_by_this_thread());
      EXPECT_FALSE(gate_.try_take().has_value());
    }}.join();
  }
  EXPECT_FALSE(gate_.held());
  EXPECT_TRUE(gate_.try_take().has_value());
}

// requirement
TEST_F(Lease, IsReleasedOnceByItsLastOwner) {
  lease first = gate_.take();
  {
    lease const second = std::move(first);
    EXPECT_TRUE(gate_.held());
    EXPECT_EQ(&second.context(), &context_);
  }
  EXPECT_FALSE(gate_.held());
}

// requirement: if a thread waits in `take`, it gets the lease before any thread that calls
// `try_take`
TEST_F(Lease, GoesToAWaitingThreadFirst) {
  std::optional<lease> mine = gate_.try_take();
  std::atomic<bool> got{false};
  std::thread taker{[&] {
    lease const its = gate_.take();
    got = true;
  }};
  wait_until_wanted();
  EXPECT_FALSE(gate_.try_take().has_value());
  EXPECT_FALSE(got);
  mine.reset();
  // From here on, no call of `try_take` may succeed until the thread in `take` has the lease.
  while (!got) {
    std::optional<lease> const tried = gate_.try_take();
    EXPECT_TRUE(!tried || got);
  }
  taker.join();
  EXPECT_FALSE(gate_.wanted());
}

// requirement
TEST_F(Lease, WaitsNoLongerThanRequested) {
  EXPECT_TRUE(gate_.take_until(clock::now()).has_value())
      << "a free lease is given without waiting";
  lease const mine = gate_.take();
  std::thread{[&] {
    clock::time_point const when = clock::now() + 5ms;
    EXPECT_FALSE(gate_.take_until(when).has_value());
    EXPECT_GE(clock::now(), when);
  }}.join();
  EXPECT_FALSE(gate_.wanted()) << "a thread that has given up does not block others";
}

// requirement
TEST_F(Lease, CountsThreadsThatTookItOver) {
  for (int i = 0; i < 3; ++i) { static_cast<void>(gate_.take()); }
  EXPECT_EQ(gate_.migrations(), 0u) << "the first holder has no predecessor";
  std::thread{[&] { static_cast<void>(gate_.take()); }}.join();
  EXPECT_EQ(gate_.migrations(), 1u);
  static_cast<void>(gate_.take());
  EXPECT_EQ(gate_.migrations(), 2u);
}

// requirement
TEST_F(Lease, TokensOfThreadsAreNeverUsedAgain) {
  std::uint64_t const here = this_thread_token();
  EXPECT_NE(here, 0u);
  EXPECT_EQ(this_thread_token(), here);
  std::vector<std::uint64_t> seen{here};
  for (int i = 0; i < 4; ++i) {
    std::thread{[&] { seen.push_back(this_thread_token()); }}.join();
  }
  for (std::size_t i = 1; i < seen.size(); ++i) { EXPECT_GT(seen[i], seen[i - 1]); }
}

// stress: data that is accessed only by the holder of the lease needs no other synchronization
TEST_F(Lease, GuardsData) {
  constexpr int threads = 4;
  constexpr int rounds = 500;
  int plain = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      for (int done = 0; done < rounds;) {
        std::optional<lease> held;
        if (i % 3 == 0) {
          held.emplace(gate_.take());
        } else if (std::optional<lease> got =
                       i % 3 == 1 ? gate_.try_take() : gate_.take_until(clock::now() + 100us)) {
          held.emplace(std::move(*got));
        } else {
          std::this_thread::yield();
          continue;
        }
        ++plain;
        ++done;
      }
    });
  }
  for (std::thread& each : all) { each.join(); }
  EXPECT_EQ(plain, threads * rounds);
  EXPECT_FALSE(gate_.held());
  EXPECT_FALSE(gate_.wanted());
}

class CurrentScope : public Lease {};

// requirement
TEST_F(CurrentScope, MakesTheContextCurrentUntilTheBlockEnds) {
  foreign_contexts const theirs{1};
  lease mine = gate_.take();
  {
    current_scope const scope{mine};
    EXPECT_EQ(current(), context_.handle());
    EXPECT_EQ(depth(), 2u);
    {
      current_scope const again{gate_};
      EXPECT_EQ(depth(), 3u);
    }
    EXPECT_EQ(current(), context_.handle());
  }
  EXPECT_EQ(current(), theirs[0]);
  EXPECT_EQ(gate_.pushes(), 2u);
  EXPECT_EQ(gate_.retired(), CUDA_SUCCESS);
}

// requirement
TEST_F(CurrentScope, RestoresTheStackIfTheBlockThrows) {
  lease mine = gate_.take();
  try {
    current_scope const scope{mine};
    throw 1;
  } catch (int) {}
  EXPECT_EQ(depth(), 0u);
}

// requirement
TEST_F(CurrentScope, ThatCannotPushLeavesTheStackAlone) {
  lease mine = gate_.take();
  testing::fail_call("cuCtxPushCurrent", 1, driver_status::invalid_context);
  EXPECT_THAT(thrown<driver_error>([&] { current_scope const scope{mine}; }),
              test::AllOf(HasSubstr("cuCtxPushCurrent"), HasSubstr("device 0")));
  EXPECT_EQ(depth(), 0u);
  EXPECT_EQ(gate_.pushes(), 0u);
  EXPECT_EQ(gate_.retired(), CUDA_SUCCESS) << "a failed push must not retire the context";
}

// requirement: if other code has changed the stack so that a scope cannot pop its context, the
// context is not used again
TEST_F(CurrentScope, RetiresTheContextAfterAForeignPop) {
  lease mine = gate_.take();
  CUcontext other = nullptr;
  ::testing::internal::CaptureStderr();
  {
    current_scope const scope{mine};
    ASSERT_EQ(api()->ctx_create(&other, 0, 0), CUDA_SUCCESS);
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              test::AllOf(HasSubstr("device 0"), HasSubstr("no longer be used")));
  EXPECT_EQ(gate_.retired(), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(current(), context_.handle()) << "the scope must pop exactly once";
  CUcontext popped = nullptr;
  ASSERT_EQ(api()->ctx_pop_current(&popped), CUDA_SUCCESS);
  ASSERT_EQ(api()->ctx_destroy(other), CUDA_SUCCESS);
  EXPECT_THAT(thrown<driver_error>([&] { current_scope const scope{mine}; }),
              HasSubstr("earlier cuCtxPopCurrent"));
  EXPECT_EQ(depth(), 0u);
}

}  // namespace
}  // namespace flotilla::context
