// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Statements of docs/contexts.md, tested through flotilla's typed interface for contexts. Programs
// that use this interface need not include cuda.h.
#include "contexts_test.hpp"

#include <cstring>
#include <optional>
#include <stdexcept>

namespace flotilla::test {
namespace {

class TypedContexts : public contexts_test {
 protected:
  static context_driver contexts() {
    return on_gpus() ? context_driver::gpus() : context_driver::cpus(2);
  }
  static floating_context make(device_settings const& asked = {}) {
    context_driver const driver = contexts();
    return {driver, driver.devices()[0], asked};
  }
};

// C1.12 C1.13 C1.14 C2.46 C2.49: a new floating_context is current on no thread. A context_scope
// makes this context current on the calling thread, which may be any thread
TEST_F(TypedContexts, FloatUntilAScopeHasThemCurrent) {
  floating_context const own = make();
  EXPECT_EQ(contexts().current(), std::nullopt);
  {
    context_scope const here{own};
    EXPECT_EQ(contexts().current(), own.ref());
  }
  EXPECT_EQ(contexts().current(), std::nullopt);
  elsewhere([&] {
    context_scope const there{own};
    EXPECT_EQ(current(), own.ref().handle());
  });
}

// C1.15 C2.48 C4.42: scopes can be nested. Their destructors make the caller's context current
// again, even if an exception leaves the scopes
TEST_F(TypedContexts, ScopesRestoreWhatWasCurrent) {
  CUcontext const mine = create();
  floating_context const one = make(), other = make();
  try {
    context_scope const outer{one};
    context_scope const inner{other};
    EXPECT_EQ(current(), other.ref().handle());
    throw std::runtime_error{"out of both"};
  } catch (std::runtime_error const&) {}
  EXPECT_EQ(current(), mine);
  EXPECT_EQ(pop(), mine);
}

// C1.14: if a thread ends while a context is on its stack, other threads can still use and destroy
// the context
TEST_F(TypedContexts, AThreadThatEndsGivesItsContextsBack) {
  floating_context own = make();
  elsewhere([&] {
    contexts().push(own.ref());
    contexts().push(own.ref());
  });
  { context_scope const here{own}; }
  EXPECT_NO_THROW(own.close());
  // A green context can be current on only one thread.
  floating_context green = make({.context = context_source::green(16)});
  elsewhere([&] { contexts().push(green.ref()); });
  elsewhere([&] { context_scope const there{green}; });
  EXPECT_NO_THROW(green.close());
}

// C2.59 C2.60 C2.61 C2.62 C2.46: `push`, `pop` and `set_current` change the stack like the driver's
// functions
TEST_F(TypedContexts, TheStackCanBeHandledByHand) {
  floating_context const one = make(), other = make();
  context_driver const driver = contexts();
  EXPECT_EQ(driver.pop(), std::nullopt) << "pop must not throw if the stack is empty";
  driver.push(one.ref());
  driver.set_current(other.ref());
  EXPECT_EQ(driver.current(), other.ref());
  EXPECT_EQ(driver.pop(), other.ref());
  driver.push(one.ref());
  driver.push(other.ref());
  driver.set_current(std::nullopt);
  EXPECT_EQ(driver.current(), one.ref());
  EXPECT_EQ(driver.pop(), one.ref());
  EXPECT_EQ(driver.current(), std::nullopt);
}

// C2.20 C2.21 C2.23: `close` refuses to destroy a context that a scope has made current
TEST_F(TypedContexts, AreNotTakenFromUnderAScope) {
  floating_context own = make();
  {
    context_scope const here{own};
    EXPECT_THROW(own.close(), context_in_use);
    EXPECT_TRUE(own.is_open());
    allocate(4);
  }
  own.close();
  EXPECT_FALSE(own.is_open());
}

// C2.34 C2.27 C2.65 C2.24 C2.41: `context_ref` returns the properties of a context that is not
// current
TEST_F(TypedContexts, AnswerWhatTheyAreAsked) {
  device_settings asked;
  asked.schedule = wait_policy::blocking;
  asked.cache = cache_preference::l1;
  asked.stack_bytes = 5000;
  floating_context const own = make(asked);
  context_ref const ref = own.ref();
  EXPECT_EQ(ref.flags().schedule, wait_policy::blocking);
  EXPECT_EQ(ref.cache(), cache_preference::l1);
  EXPECT_EQ(ref.limit(context_limit::stack), 5008u);
  EXPECT_EQ(own.effective_settings().stack_bytes, 5008u);
  EXPECT_EQ(ref.api_version(), 3020u);
  EXPECT_LE(ref.stream_priorities().greatest, ref.stream_priorities().least);
  EXPECT_EQ(ref.limit(context_limit::sync_depth), std::nullopt);
  EXPECT_EQ(current(), nullptr);
}

// C2.52 C2.63 C2.84: `context_ref` sets limits and preferences of one context. Other contexts and
// the caller's stack do not change
TEST_F(TypedContexts, AreSetByHandle) {
  CUcontext const mine = create();
  floating_context const one = make(), other = make();
  EXPECT_EQ(one.ref().set_limit(context_limit::printf_fifo, 2u << 20), 2u << 20);
  one.ref().set_cache(cache_preference::equal);
  EXPECT_EQ(one.ref().set_bank_size(bank_size::eight), bank_size::four);
  EXPECT_EQ(one.ref().cache(), cache_preference::equal);
  EXPECT_EQ(other.ref().cache(), cache_preference::none);
  EXPECT_NE(other.ref().limit(context_limit::printf_fifo), 2u << 20);
  EXPECT_EQ(pop(), mine);
}

// C1.18 C1.21: several libraries can attach to a context. After they have detached, the context
// still exists
TEST_F(TypedContexts, AreAttachedToForAWhile) {
  floating_context const own = make();
  {
    context_attachment const library{own.ref()};
    context_attachment const another{own.ref()};
    EXPECT_EQ(current(), nullptr);
  }
  context_scope const here{own};
  allocate(4);
}

// C4.3 C4.38: kernels can write to `mapped_memory`, and the host can read it
TEST_F(TypedContexts, MapMemoryOfTheHost) {
  floating_context const own = make();
  mapped_memory const words{own, 64};
  context_scope const here{own};
  EXPECT_OK(launch(function(load(), "put"), nullptr, words.device_address(), 77));
  EXPECT_OK(cu().ctx_synchronize());
  int seen = 0;
  std::memcpy(&seen, words.host().data(), sizeof seen);
  EXPECT_EQ(seen, 77);
}

}  // namespace
}  // namespace flotilla::test
