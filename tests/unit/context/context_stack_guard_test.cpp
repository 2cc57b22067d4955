// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/context_stack_guard.hpp"

#include <functional>

#include <flotilla/testing/fault_injection.hpp>

#include "context/lease.hpp"
#include "unit/context/context_test.hpp"

namespace flotilla::context {
namespace {

/// In these tests, the stack contains two contexts of the application. The device's context is
/// above them.
class ContextStackGuard : public context_test {
 protected:
  context_handle context_{api(), cpu(), {}};
  lease_gate gate_{context_};

  static CUcontext pop() {
    CUcontext popped = nullptr;
    EXPECT_EQ(api()->ctx_pop_current(&popped), CUDA_SUCCESS);
    return popped;
  }
  /// Runs `violate` as user code, and checks that the guard restores the stack. @return the guard's
  /// description of what the user code did wrong.
  std::string after(std::function<void()> const& violate) {
    foreign_contexts const theirs{2};
    lease mine = gate_.take();
    std::string said;
    {
      current_scope const scope{mine};
      {
        context_stack_guard guest{context_};
        EXPECT_EQ(depth(), 1u) << "user code must not see the application's contexts";
        EXPECT_EQ(current(), context_.handle());
        violate();
        said = guest.restore();
      }
      EXPECT_EQ(depth(), 3u);
      EXPECT_EQ(current(), context_.handle());
    }
    EXPECT_EQ(current(), theirs[1]);
    EXPECT_EQ(gate_.retired(), CUDA_SUCCESS) << "a restored stack must not retire the context";
    return said;
  }
};

// requirement
TEST_F(ContextStackGuard, ReportsNothingForCorrectCode) {
  EXPECT_EQ(after([] {}), "");
  context_handle const other{api(), cpu(1), {}};
  EXPECT_EQ(after([&] {
              ASSERT_EQ(api()->ctx_push_current(other.handle()), CUDA_SUCCESS);
              EXPECT_EQ(pop(), other.handle());
            }),
            "");
  EXPECT_EQ(after([] {
              CUcontext const own = pop();
              ASSERT_EQ(api()->ctx_push_current(own), CUDA_SUCCESS);
            }),
            "");
}

// requirement
TEST_F(ContextStackGuard, RestoresAPoppedContext) {
  EXPECT_THAT(after([] { pop(); }), HasSubstr("popped the device's context"));
}

// requirement: if user code pops too often, the application's contexts stay on the stack
TEST_F(ContextStackGuard, ProtectsTheApplicationsContextsFromASurplusPop) {
  EXPECT_THAT(after([] {
                CUcontext popped = nullptr;
                for (int i = 0; i < 5; ++i) { static_cast<void>(api()->ctx_pop_current(&popped)); }
              }),
              HasSubstr("popped the device's context"));
}

// requirement
TEST_F(ContextStackGuard, RemovesContextsThatWereLeft) {
  context_handle const other{api(), cpu(1), {}};
  auto const push = [&] { ASSERT_EQ(api()->ctx_push_current(other.handle()), CUDA_SUCCESS); };
  EXPECT_THAT(after(push), HasSubstr("1 context too many"));
  EXPECT_THAT(after([&] {
                push();
                push();
              }),
              HasSubstr("2 contexts too many"));
}

// requirement
TEST_F(ContextStackGuard, ReplacesAnotherContextInItsPlace) {
  context_handle const other{api(), cpu(1), {}};
  EXPECT_THAT(after([&] {
                pop();
                ASSERT_EQ(api()->ctx_push_current(other.handle()), CUDA_SUCCESS);
              }),
              HasSubstr("another context current"));
  EXPECT_THAT(after([&] { ASSERT_EQ(api()->ctx_set_current(other.handle()), CUDA_SUCCESS); }),
              HasSubstr("another context current"));
}

// requirement
TEST_F(ContextStackGuard, RestoresAStackThatWasSetToNull) {
  EXPECT_THAT(after([] { ASSERT_EQ(api()->ctx_set_current(nullptr), CUDA_SUCCESS); }),
              HasSubstr("popped the device's context"));
}

// error guess: user code leaves a destroyed context on the stack
TEST_F(ContextStackGuard, RemovesADestroyedContext) {
  EXPECT_THAT(after([] {
                CUcontext made = nullptr;
                ASSERT_EQ(api()->ctx_create(&made, 0, 1), CUDA_SUCCESS);
                ASSERT_EQ(api()->ctx_push_current(made), CUDA_SUCCESS);
                ASSERT_EQ(api()->ctx_destroy(made), CUDA_SUCCESS);
              }),
              HasSubstr("too many"));
}

// requirement: if `restore` was not called, the destructor restores the stack
TEST_F(ContextStackGuard, RestoresInItsDestructor) {
  lease mine = gate_.take();
  current_scope const scope{mine};
  {
    context_stack_guard const guest{context_};
    pop();
  }
  EXPECT_EQ(current(), context_.handle());
  EXPECT_EQ(depth(), 1u);
}

// regression: if the driver refused a call after the user code, the user code was blamed
TEST_F(ContextStackGuard, DoesNotBlameUserCodeForARefusal) {
  EXPECT_EQ(after([] { testing::fail_call("cuCtxGetCurrent", 1, driver_status::out_of_memory); }),
            "");
  EXPECT_THAT(after([] {
                testing::fail_call("cuCtxGetCurrent", 1, driver_status::out_of_memory);
                pop();
              }),
              HasSubstr("popped the device's context"));
  lease mine = gate_.take();
  ::testing::internal::CaptureStderr();
  {
    current_scope const scope{mine};
    context_stack_guard guest{context_};
    testing::fail_call("cuCtxPopCurrent", 1, driver_status::out_of_memory);
    EXPECT_EQ(guest.restore(), "");
    EXPECT_EQ(current(), context_.handle());
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              test::AllOf(HasSubstr("cuCtxPopCurrent failed"), HasSubstr("device 0")));
  while (depth() != 0) { pop(); }
}

}  // namespace
}  // namespace flotilla::context
