// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Callables: which functions a callable may call, and how flotilla restores the context stack after
// a callable.

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

class Callable : public contract_test {
 protected:
  /// Submits a callable that leaves the context stack changed. Checks that the callable's ticket
  /// has an error about the change and that later tasks find a correct stack.
  void expect_reported(callable misbehaving) {
    ticket const bad =
        rt().submit(std::move(misbehaving), {.device = last(), .label = "stack breaker"});
    EXPECT_THAT(thrown<error>([&] { bad.wait(); }),
                AllOf(HasSubstr("stack breaker"), HasSubstr("context")));
    EXPECT_EQ(current_context(), nullptr) << "a context is still current on the waiting thread";
    CUcontext seen{};
    std::size_t depth = 0;
    rt().submit(
            [&](task_context& context) {
              seen = current_context();
              depth = stack_depth();
              EXPECT_EQ(seen, context.context());
            },
            {.device = last()})
        .wait();
    EXPECT_EQ(depth, 1u) << "the leftover context is still on the stack";
    device_word value{rt(), last(), 3};
    EXPECT_EQ(
        value.read({rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 1u))}), 7u);
  }
};
FLOTILLA_CONTRACT(Callable);

// requirement
TEST_P(Callable, DeviceContextIsCurrentAndAloneOnTheStack) {
  for (device_ordinal const device : ordinals()) {
    bool ran = false;
    rt().submit(
            [&](task_context& context) {
              ran = true;
              EXPECT_EQ(current_context(), context.context());
              EXPECT_EQ(stack_depth(), 1u);
              CUdevice at{-1};
              EXPECT_EQ(driver_in_use().ctx_get_device(&at), CUDA_SUCCESS);
              CUdevice expected{-2};
              EXPECT_EQ(driver_in_use().device_get(&expected, context.device().driver_ordinal),
                        CUDA_SUCCESS);
              EXPECT_EQ(at, expected);
            },
            {.device = device})
        .wait();
    EXPECT_TRUE(ran);
  }
}

// requirement
TEST_P(Callable, BalancedPushAndPopIsAllowed) {
  CUcontext own{}, popped{};
  rt().submit([&](task_context& context) {
        own = context.context();
        EXPECT_EQ(driver_in_use().ctx_push_current(own), CUDA_SUCCESS);
        EXPECT_EQ(driver_in_use().ctx_pop_current(&popped), CUDA_SUCCESS);
      })
      .wait();
  EXPECT_NE(own, nullptr);
  EXPECT_EQ(popped, own);
}

// requirement
TEST_P(Callable, LeftoverContextIsReportedAndRemoved) {
  expect_reported([](task_context& context) {
    EXPECT_EQ(driver_in_use().ctx_push_current(context.context()), CUDA_SUCCESS);
  });
}

// requirement
TEST_P(Callable, TooManyPopsAreReportedAndRepaired) {
  expect_reported([](task_context&) {
    CUcontext popped{};
    while (driver_in_use().ctx_pop_current(&popped) == CUDA_SUCCESS) {}
  });
}

// requirement
TEST_P(Callable, ReplacedContextIsReportedAndRestored) {
  expect_reported(
      [](task_context&) { EXPECT_EQ(driver_in_use().ctx_set_current(nullptr), CUDA_SUCCESS); });
}

// requirement: a callable that pops too many contexts does not change the application's context
// stack on the thread that runs the callable
TEST_P(Callable, CallableCannotPopTheWaitingThreadsContext) {
  CUcontext mine{};  // the application's context
  CUdevice device{};
  ASSERT_EQ(driver_in_use().device_get(&device, rt().devices()[0].driver_ordinal), CUDA_SUCCESS);
  ASSERT_EQ(driver_in_use().ctx_create(&mine, 0, device), CUDA_SUCCESS);
  ticket const bad = rt().submit([](task_context&) {
    CUcontext popped{};
    while (driver_in_use().ctx_pop_current(&popped) == CUDA_SUCCESS) {}
  });
  EXPECT_THROW(bad.wait(), error);
  rt().submit(program().nothing.with_shape({1}, {1})()).wait();
  EXPECT_EQ(current_context(), mine);
  EXPECT_EQ(stack_depth(), 1u);
  EXPECT_EQ(driver_in_use().ctx_destroy(mine), CUDA_SUCCESS);
}

// requirement: if a callable leaves a context on the stack and throws, the ticket has the
// exception, and flotilla removes the context
TEST_P(Callable, LeftoverContextOfAThrowingCallableIsRemoved) {
  ticket const bad = rt().submit([](task_context& context) {
    (void)driver_in_use().ctx_push_current(context.context());
    throw std::runtime_error{"thrown with a context pushed"};
  });
  EXPECT_THAT(thrown<std::runtime_error>([&] { bad.wait(); }),
              HasSubstr("thrown with a context pushed"));
  EXPECT_EQ(current_context(), nullptr);
}

// requirement
TEST_P(Callable, TicketWaitsForWorkThatTheCallableEnqueued) {
  device_buffer<std::uint32_t> many{rt(), last(), 1u << 20};
  std::vector<std::uint32_t> host(many.size());
  ticket const done = rt().submit(
      [&](task_context& context) {
        EXPECT_EQ(
            driver_in_use().memset_d32_async(many.address(), 0xabcd, many.size(), context.stream()),
            CUDA_SUCCESS);
        EXPECT_EQ(driver_in_use().memcpy_dtoh_async(host.data(), many.address(), many.size() * 4,
                                                    context.stream()),
                  CUDA_SUCCESS);
      },
      {.device = last()});
  done.wait();
  EXPECT_EQ(host.front(), 0xabcdu);
  EXPECT_EQ(host.back(), 0xabcdu);
}

// requirement: a callable may submit tasks, and other threads and tasks may wait for these tasks
TEST_P(Callable, CallableMaySubmit) {
  ticket inner, chained;
  int ran = 0;
  device_word value{rt(), last(), 1};
  rt().submit(
          [&](task_context&) {
            inner = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 5u, 2u));
            chained =
                rt().submit([&](task_context&) { ++ran; }, {.device = first(), .after = {inner}});
          },
          {.device = last()})
      .wait();
  chained.wait();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(value.read({inner}), 7u);
}

// requirement: a callable may call all functions that do not wait
TEST_P(Callable, CallableMayPumpQueryAndTestTickets) {
  ticket const other = rt().submit(program().nothing.with_shape({1}, {1})(), {.device = first()});
  bool reached_the_end = false;
  rt().submit(
          [&](task_context&) {
            (void)rt().pump();
            (void)other.ready();
            EXPECT_FALSE(rt().devices().empty());
            EXPECT_GE(rt().counters(last()).pushes, 1u);
            EXPECT_GT(rt().memory(last()).total_bytes, 0u);
            EXPECT_LE(rt().worker_counters().size(), static_cast<std::size_t>(worker_count()));
            reached_the_end = true;
          },
          {.device = last()})
      .wait();
  EXPECT_TRUE(reached_the_end);
  other.wait();
}

// error guess: a callable that allocates and frees memory leaks nothing, neither on its own device
// nor on another device. A GPU driver may keep the memory that was freed in a round, so this amount
// may still be in use after each round.
TEST_P(Callable, CallableMayAllocateAndFree) {
  constexpr std::size_t words = 16u << 20;
  constexpr std::size_t round_bytes = words * sizeof(std::uint32_t);
  constexpr std::size_t slack_bytes = 16u << 20;  // covers flotilla's own allocations at first use
  constexpr int rounds = 4;
  std::set<unsigned> const devices{first().value, last().value};
  for (unsigned const ordinal : devices) {
    device_ordinal const device{ordinal};
    auto const free_bytes = [&] { return rt().memory(device).free_bytes; };
    std::optional<device_buffer<std::uint32_t>> memory;
    device_word value{rt(), device};
    std::size_t const before = free_bytes();
    for (int round = 0; round < rounds; ++round) {
      rt().submit([&](task_context&) { memory.emplace(rt(), device, words); }, {.device = last()})
          .wait();
      ASSERT_TRUE(memory.has_value());
      if (round == 0) { EXPECT_LE(free_bytes() + round_bytes, before + slack_bytes); }
      ticket const written = rt().submit(program().write.with_shape({1}, {1})(*memory, 7u));
      EXPECT_EQ(
          value.read({rt().submit(program().copy.with_shape({1}, {1})(value.buffer(), *memory),
                                  {.after = {written}})}),
          7u);
      rt().submit([&](task_context&) { memory.reset(); }, {.device = last()}).wait();
      EXPECT_TRUE(pumping(rt(), [&] { return free_bytes() + round_bytes + slack_bytes >= before; }))
          << free_bytes() << " bytes are free after round " << round << ", but " << before
          << " were free before round 0";
    }
  }
}

// requirement: when a callable is destroyed, the device's context is current
TEST_P(Callable, CallableIsDestroyedWithItsContextCurrent) {
  struct witness {
    std::atomic<int>* right;
    explicit witness(std::atomic<int>* counter) : right{counter} {}
    witness(witness&& other) noexcept : right{std::exchange(other.right, nullptr)} {}
    ~witness() {
      if (right != nullptr && current_context() != nullptr) { ++*right; }
    }
    void operator()(task_context&) const {}
  };
  std::atomic<int> right{0};
  rt().submit(witness{&right}).wait();
  EXPECT_TRUE(pumping(rt(), [&] { return right == 1; }));
}

// regression: if the driver refused to name the current context after a callable, the task failed
// because "the callable popped the device's context"
TEST_P(Callable, IsNotBlamedForARefusal) {
  FLOTILLA_NEED_CPU_DRIVER();
  ticket const task = rt().submit(
      [](task_context&) { testing::fail_call("cuCtxGetCurrent", 1, driver_status::out_of_memory); },
      {.device = last()});
  EXPECT_NO_THROW(task.wait());
  testing::clear_faults();
}

}  // namespace
}  // namespace flotilla::test
