// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Calls of `post` that are refused, and calls of `post` from many threads.

#include <atomic>
#include <thread>
#include <vector>

#include "contract/continuation.hpp"
#include "contract/post_fixture.hpp"
#include "support/contract_test.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

class PostRefusal : public reporting_test {};
FLOTILLA_CONTRACT(PostRefusal);

// requirement: `post` throws for the same invalid tasks as `submit`, and does not call the handler
TEST_P(PostRefusal, RefusedPostsThrow) {
  start_reporting();
  runtime other{options()};
  test_program const others{other};
  device_buffer<std::uint32_t> foreign{other, first(), 1};
  ticket const of_other = other.submit(others.nothing.with_shape({1}, {1})());
  launch const nothing = program().nothing.with_shape({1}, {1})();
  device_ordinal const beyond{static_cast<unsigned>(device_count())};
  EXPECT_THAT(thrown<invalid_argument>([&] { rt().post(program().nothing.over(0)()); }),
              HasSubstr("nothing"));
  EXPECT_THROW(rt().post(callable{}), invalid_argument);
  EXPECT_THROW(rt().post(nothing, {.after = {ticket{}}}), invalid_argument);
  EXPECT_THROW(rt().post(nothing, {.device = beyond}), unknown_device);
  EXPECT_THROW(rt().post([](task_context&) {}, {.device = beyond}), unknown_device);
  EXPECT_THROW(rt().post(others.nothing.with_shape({1}, {1})()), wrong_runtime);
  EXPECT_THROW(rt().post(foreign.fill(1u)), wrong_runtime);
  EXPECT_THROW(rt().post(nothing, {.after = {of_other}}), wrong_runtime);
  rt().wait_idle();
  rt().close();
  EXPECT_THROW(rt().post(nothing), runtime_closed);
  EXPECT_THROW(rt().post([](task_context&) {}), runtime_closed);
  stop();
  EXPECT_EQ(errors.size(), 0u);
}

// requirement: if the window is full, `post` inside a callable throws and does not wait
TEST_P(PostRefusal, PostIntoAFullWindowInsideACallableIsRefused) {
  start_reporting(64);
  std::atomic<int> accepted{0}, refused{0}, ran{0};
  rt().submit(
          [&](task_context&) {
            try {
              for (int i = 0; i < 1000; ++i) {
                rt().post([&](task_context&) { ++ran; }, {.device = first()});
                ++accepted;
              }
            } catch (window_full const&) { ++refused; }
          },
          {.device = last()})
      .wait();
  rt().wait_idle();
  EXPECT_EQ(ran, accepted);
  if (worker_count() == 0) {
    EXPECT_EQ(refused, 1) << "no other thread can have freed a slot";
    EXPECT_GE(accepted, 63);
  }
  EXPECT_EQ(errors.size(), 0u);
}

// stress: several threads post tasks through a small window. Each task must run once, and the
// handler must receive each error once
TEST_P(PostRefusal, ManyThreadsPostAtOnce) {
  constexpr std::size_t threads = 4;
  std::size_t const posts = sanitized ? 100 : 1000;
  start_reporting(64);
  std::vector<std::atomic<int>> ran(threads * posts);
  // One counter for each thread and device, because the kernel's atomics are not atomic across
  // GPUs.
  host_buffer<std::uint32_t> added{rt(), 2 * threads};
  for (std::uint32_t& each : added) { each = 0; }
  launch const refused = refused_launch(program());
  std::atomic<std::size_t> failing{0}, failing_launches{0};
  {
    std::vector<std::jthread> team;
    for (std::size_t t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        for (std::size_t i = 0; i < posts; ++i) {
          task_options const where{.device = i % 2 == 0 ? first() : last()};
          bool const fails = i % 7 == t;
          failing += fails ? 1 : 0;
          rt().post(
              [&, fails, index = t * posts + i](task_context&) {
                ++ran[index];
                if (fails) { throw my_error{}; }
              },
              where);
          rt().post(program().add.with_shape({1}, {1})(&added[2 * t + i % 2], 1u), where);
          if (i % 50 == 0) {
            ++failing_launches;
            rt().post(refused);
          }
        }
      });
    }
  }
  rt().wait_idle();
  for (auto const& each : ran) { ASSERT_EQ(each, 1); }
  for (std::uint32_t const each : added) { EXPECT_EQ(each, posts / 2); }
  added = {};  // a buffer must be destroyed before its runtime
  stop();
  EXPECT_EQ(errors.count<my_error>(), failing);
  EXPECT_EQ(errors.count<driver_error>(), failing_launches);
  EXPECT_EQ(errors.size(), failing + failing_launches);
}

}  // namespace
}  // namespace flotilla::test
