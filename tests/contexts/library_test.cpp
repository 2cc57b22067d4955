// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A library that uses its own context must leave the context stack of every caller unchanged.
#include "contexts_test.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <random>

#include "support/eventually.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

/// A library that follows the pattern of text C4 in docs/contexts.md: it creates its context once,
/// and this context floats between the calls of the library.
class plugin {
 public:
  plugin() : rt_{{.devices = device_spec(1), .workers = 1}}, kernels_{rt_} {}

  /// Returns factor * value + 1, computed in the library's context.
  /// @throws std::runtime_error  if `rude` is true.
  std::uint32_t step(std::uint32_t value, std::uint32_t factor, bool rude = false) {
    device_buffer<std::uint32_t> memory{rt_, device_ordinal{0},
                                        std::span<std::uint32_t const>{&value, 1}};
    ticket const done = rt_.submit(kernels_.step.with_shape({1}, {1})(memory, factor, 1u));
    rt_.submit(
           [&](task_context& context) {
             if (current_context() != context.context()) {
               throw std::logic_error{"the current context is not the library's"};
             }
             if (rude) { throw std::runtime_error{"the library's task threw"}; }
           },
           {.after = {done}})
        .wait();
    std::uint32_t result = 0;
    rt_.submit(memory.copy_to(std::span{&result, 1}), {.after = {done}}).wait();
    return result;
  }
  CUcontext context() {
    CUcontext own = nullptr;
    rt_.submit([&](task_context& with) { own = with.context(); }).wait();
    return own;
  }

 private:
  runtime rt_;
  test_program kernels_;
};

using LibraryPattern = contexts_test;

// C1.23 C4.42 C4.49: the caller's context is still current after a call of the library
TEST_F(LibraryPattern, ACallerWithAContextKeepsIt) {
  CUcontext const mine = create();
  {
    plugin library;
    EXPECT_EQ(current(), mine);
    EXPECT_EQ(library.step(20, 2), 41u);
    EXPECT_EQ(current(), mine);
    EXPECT_NE(library.context(), mine);
  }
  EXPECT_EQ(current(), mine);
  EXPECT_EQ(pop(), mine);
  EXPECT_EQ(current(), nullptr);
}

// C4.42: if the library's task throws, the caller's context is current after the call of the
// library
TEST_F(LibraryPattern, ACallerKeepsItsContextWhenTheLibraryThrows) {
  plugin library;
  CUcontext const below = create(), mine = create();
  EXPECT_THAT(thrown<std::runtime_error>([&] { (void)library.step(1, 1, true); }),
              HasSubstr("threw"));
  EXPECT_EQ(current(), mine);
  EXPECT_EQ(pop(), mine);
  EXPECT_EQ(pop(), below);
  EXPECT_EQ(current(), nullptr);
}

// C4.43: any thread may call the library, whether or not a context is current on the thread
TEST_F(LibraryPattern, AnyThreadMayCall) {
  plugin library;
  CUcontext const theirs = floating();
  std::vector<std::jthread> running;
  std::atomic<int> right{0};
  for (std::uint32_t i = 0; i < 8; ++i) {
    running.emplace_back([&, i] {
      if (i % 2 == 0) { push(theirs); }
      right += library.step(i, 3) == 3 * i + 1 ? 1 : 0;
      EXPECT_EQ(current(), i % 2 == 0 ? theirs : nullptr);
      if (i % 2 == 0) { pop(); }
    });
  }
  running.clear();
  EXPECT_EQ(right, 8);
}

// C4.51: in the library's context, the driver refuses to launch a function of the caller's context
TEST_F(LibraryPattern, TheCallersHandlesAreRefusedInTheLibrarysContext) {
  plugin library;
  create();
  CUfunction const mine = function(load(), "nothing");
  runtime rt{{.devices = device_spec(1), .workers = 1}};
  CUresult answer = CUDA_SUCCESS;
  rt.submit([&](task_context& context) { answer = launch(mine, context.stream()); }).wait();
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE, answer);
  pop();
}

// requirement: a hundred threads, each with a random context stack, submit and wait at the same
// time. No stack changes
TEST_F(LibraryPattern, AHundredThreadsKeepTheirRandomStacks) {
  constexpr int threads = 100, contexts = 4, rounds = 20;
  std::vector<CUcontext> pool;
  for (int i = 0; i < contexts; ++i) {
    pool.push_back(floating(0, i % std::min(2, devices_there())));
  }
  runtime rt{{.devices = device_spec(std::min(2, devices_there())), .workers = 2}};
  test_program const kernels{rt};
  std::barrier all{threads};
  std::vector<std::jthread> running;
  std::atomic<int> as_it_was{0}, done{0};
  for (unsigned thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      std::mt19937 random{20261121u + thread};
      std::vector<CUcontext> stack(random() % 6);
      for (CUcontext& each : stack) {
        each = pool[random() % contexts];
        push(each);
      }
      all.arrive_and_wait();
      for (int round = 0; round < rounds; ++round) {
        ticket const launched = rt.submit(kernels.nothing.with_shape({1}, {1})());
        ticket const called = rt.submit([&](task_context& context) {
          if (random() % 4 == 0) { throw std::runtime_error{"now and then"}; }
          if (current() != context.context()) {
            throw std::logic_error{"another context is current"};
          }
        });
        launched.wait();
        try {
          called.wait();
        } catch (std::runtime_error const&) {}
        ++done;
      }
      bool same = true;
      for (auto each = stack.rbegin(); each != stack.rend(); ++each) {
        CUcontext popped = nullptr;
        same = cu().ctx_pop_current(&popped) == CUDA_SUCCESS && popped == *each && same;
      }
      as_it_was += same && current() == nullptr ? 1 : 0;
    });
  }
  running.clear();
  EXPECT_EQ(as_it_was, threads);
  EXPECT_EQ(done, threads * rounds);
}

}  // namespace
}  // namespace flotilla::test
