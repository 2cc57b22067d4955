#include "context/guest_stack.hpp"

#include <functional>

#include "context/lease.hpp"
#include "unit/context/context_test.hpp"

namespace flotilla::context {
namespace {

/// Below the device's context lie two of the application's own.
class GuestStack : public context_test {
 protected:
  floating_context context_{api(), cpu(), {}};
  lease_gate gate_{context_};

  static CUcontext pop() {
    CUcontext popped = nullptr;
    EXPECT_EQ(api()->ctx_pop_current(&popped), CUDA_SUCCESS);
    return popped;
  }
  /// What is said of a guest that does `mischief`. Afterwards everything is as before.
  std::string after(std::function<void()> const& mischief) {
    foreign_contexts const theirs{2};
    lease mine = gate_.take();
    std::string said;
    {
      current_scope const scope{mine};
      {
        guest_stack guest{context_};
        EXPECT_EQ(depth(), 1u) << "the application's contexts are in the guest's reach";
        EXPECT_EQ(current(), context_.handle());
        mischief();
        said = guest.mend();
      }
      EXPECT_EQ(depth(), 3u);
      EXPECT_EQ(current(), context_.handle());
    }
    EXPECT_EQ(current(), theirs[1]);
    EXPECT_EQ(gate_.retired(), CUDA_SUCCESS) << "mended is mended";
    return said;
  }
};

// requirement
TEST_F(GuestStack, OfAWellBehavedGuestSaysNothing) {
  EXPECT_EQ(after([] {}), "");
  floating_context const other{api(), cpu(1), {}};
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
TEST_F(GuestStack, MendsWhatWasPopped) {
  EXPECT_THAT(after([] { pop(); }), HasSubstr("popped the device's context"));
}

// requirement: a pop too many finds nothing of the application's
TEST_F(GuestStack, KeepsTheApplicationsContextsFromAGuestThatPopsThemAll) {
  EXPECT_THAT(after([] {
                CUcontext popped = nullptr;
                for (int i = 0; i < 5; ++i) { static_cast<void>(api()->ctx_pop_current(&popped)); }
              }),
              HasSubstr("popped the device's context"));
}

// requirement
TEST_F(GuestStack, TakesAwayWhatWasLeft) {
  floating_context const other{api(), cpu(1), {}};
  auto const push = [&] { ASSERT_EQ(api()->ctx_push_current(other.handle()), CUDA_SUCCESS); };
  EXPECT_THAT(after(push), HasSubstr("1 context too many"));
  EXPECT_THAT(after([&] {
                push();
                push();
              }),
              HasSubstr("2 contexts too many"));
}

// requirement
TEST_F(GuestStack, MendsAnotherContextInItsPlace) {
  floating_context const other{api(), cpu(1), {}};
  EXPECT_THAT(after([&] {
                pop();
                ASSERT_EQ(api()->ctx_push_current(other.handle()), CUDA_SUCCESS);
              }),
              HasSubstr("another context current"));
  EXPECT_THAT(after([&] { ASSERT_EQ(api()->ctx_set_current(other.handle()), CUDA_SUCCESS); }),
              HasSubstr("another context current"));
}

// requirement
TEST_F(GuestStack, MendsAStackThatWasSetToNothing) {
  EXPECT_THAT(after([] { ASSERT_EQ(api()->ctx_set_current(nullptr), CUDA_SUCCESS); }),
              HasSubstr("popped the device's context"));
}

// error guess: what the guest leaves may be destroyed by then
TEST_F(GuestStack, TakesAwayADestroyedContext) {
  EXPECT_THAT(after([] {
                CUcontext made = nullptr;
                ASSERT_EQ(api()->ctx_create(&made, 0, 1), CUDA_SUCCESS);
                ASSERT_EQ(api()->ctx_push_current(made), CUDA_SUCCESS);
                ASSERT_EQ(api()->ctx_destroy(made), CUDA_SUCCESS);
              }),
              HasSubstr("too many"));
}

// requirement: without a word from the caller it mends as well
TEST_F(GuestStack, MendsWhenItEnds) {
  lease mine = gate_.take();
  current_scope const scope{mine};
  {
    guest_stack const guest{context_};
    pop();
  }
  EXPECT_EQ(current(), context_.handle());
  EXPECT_EQ(depth(), 1u);
}

}  // namespace
}  // namespace flotilla::context
