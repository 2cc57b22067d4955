// Callables: what they may do to the thread that runs them, and what is put right afterwards.

#include <atomic>
#include <memory>
#include <thread>

#include "support/contract_test.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {
namespace {

class Callable : public contract_test {
 protected:
  /// Submits a callable that misbehaves, and proves that its ticket says so and nothing else
  /// suffers.
  void expect_reported(work misbehaving) {
    ticket const bad =
        rt().submit(std::move(misbehaving), {.device = last(), .label = "rude guest"});
    EXPECT_THAT(thrown<error>([&] { bad.wait(); }),
                AllOf(HasSubstr("rude guest"), HasSubstr("context")));
    EXPECT_EQ(current_context(), nullptr) << "the waiter's own stack";
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
    EXPECT_EQ(depth, 1u) << "what was left behind is still there";
    device_word const value{rt(), last(), 3};
    EXPECT_EQ(value.read({rt().submit(program().step.on({1}, {1})(value.buffer(), 2u, 1u))}), 7u);
  }
};
FLOTILLA_CONTRACT(Callable);

// requirement
TEST_P(Callable, HasTheDevicesContextCurrentAndAloneOnTheStack) {
  for (device_ordinal const device : ordinals()) {
    rt().submit(
            [&](task_context& context) {
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
  }
}

// requirement
TEST_P(Callable, ThatPushesAndPopsInBalanceIsFine) {
  rt().submit([](task_context& context) {
        CUcontext popped{};
        EXPECT_EQ(driver_in_use().ctx_push_current(context.context()), CUDA_SUCCESS);
        EXPECT_EQ(driver_in_use().ctx_pop_current(&popped), CUDA_SUCCESS);
      })
      .wait();
}

// requirement
TEST_P(Callable, ThatLeavesAContextPushedIsReportedAndMended) {
  expect_reported([](task_context& context) {
    EXPECT_EQ(driver_in_use().ctx_push_current(context.context()), CUDA_SUCCESS);
  });
}

// requirement
TEST_P(Callable, ThatPopsTooOftenIsReportedAndMended) {
  expect_reported([](task_context&) {
    CUcontext popped{};
    while (driver_in_use().ctx_pop_current(&popped) == CUDA_SUCCESS) {}
  });
}

// requirement
TEST_P(Callable, ThatSetsAnotherContextIsReportedAndMended) {
  expect_reported(
      [](task_context&) { EXPECT_EQ(driver_in_use().ctx_set_current(nullptr), CUDA_SUCCESS); });
}

// requirement: a helper's own context, below flotilla's, is out of reach of a callable that pops
TEST_P(Callable, CannotPopTheContextOfTheThreadThatWaits) {
  CUcontext mine{};  // the application's own
  CUdevice device{};
  ASSERT_EQ(driver_in_use().device_get(&device, rt().devices()[0].driver_ordinal), CUDA_SUCCESS);
  ASSERT_EQ(driver_in_use().ctx_create(&mine, 0, device), CUDA_SUCCESS);
  ticket const bad = rt().submit([](task_context&) {
    CUcontext popped{};
    while (driver_in_use().ctx_pop_current(&popped) == CUDA_SUCCESS) {}
  });
  EXPECT_THROW(bad.wait(), error);
  rt().submit(program().nothing.on({1}, {1})()).wait();
  EXPECT_EQ(current_context(), mine);
  EXPECT_EQ(stack_depth(), 1u);
  EXPECT_EQ(driver_in_use().ctx_destroy(mine), CUDA_SUCCESS);
}

// requirement: what is thrown and what is left on the stack are both dealt with; the callable's own
// error wins
TEST_P(Callable, ThatThrowsWithAContextPushedIsMended) {
  ticket const bad = rt().submit([](task_context& context) {
    (void)driver_in_use().ctx_push_current(context.context());
    throw std::runtime_error{"thrown with a context pushed"};
  });
  EXPECT_THAT(thrown<std::runtime_error>([&] { bad.wait(); }),
              HasSubstr("thrown with a context pushed"));
  EXPECT_EQ(current_context(), nullptr);
}

// requirement
TEST_P(Callable, TicketWaitsForWhatItEnqueued) {
  device_buffer<std::uint32_t> const many{rt(), last(), 1u << 20};
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

// requirement: nested submit; the tasks may be waited for outside
TEST_P(Callable, MaySubmit) {
  ticket inner, chained;
  int ran = 0;
  device_word const value{rt(), last(), 1};
  rt().submit(
          [&](task_context&) {
            inner = rt().submit(program().step.on({1}, {1})(value.buffer(), 5u, 2u));
            chained =
                rt().submit([&](task_context&) { ++ran; }, {.device = first(), .after = {inner}});
          },
          {.device = last()})
      .wait();
  chained.wait();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(value.read({inner}), 7u);
}

// requirement: every function may be called inside a callable
TEST_P(Callable, MayPumpAskAndTestTickets) {
  ticket const other = rt().submit(program().nothing.on({1}, {1})(), {.device = first()});
  rt().submit(
          [&](task_context&) {
            (void)rt().pump();
            (void)other.ready();
            EXPECT_FALSE(rt().devices().empty());
            EXPECT_GE(rt().counters(last()).pushes, 1u);
            EXPECT_GT(rt().memory(last()).total_bytes, 0u);
            (void)rt().workers();
          },
          {.device = last()})
      .wait();
  other.wait();
}

// error guess: a control operation inside a callable, on its own device and on another
TEST_P(Callable, MayAllocateAndFree) {
  for (device_ordinal const device : {first(), last()}) {
    rt().submit(
            [&](task_context&) {
              device_buffer<int> const inside{rt(), device, 100};
            },
            {.device = last()})
        .wait();
  }
}

// requirement: what a callable owns is destroyed with the context current
TEST_P(Callable, IsDestroyedWithItsContextCurrent) {
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

}  // namespace
}  // namespace flotilla::test
