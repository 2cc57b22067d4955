// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Tasks as senders. CMakeLists.txt says which library of senders these tests use.

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <type_traits>

#include <flotilla/adaptors/sender.hpp>
#include <flotilla/flotilla.hpp>

#include "adaptors/outcome.hpp"
#include "support/launch_gate.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

namespace exec = stdexec;

constexpr auto nothing = [](task_context&) {};
constexpr auto failing = [](task_context&) { throw std::runtime_error{"the reason"}; };
using of_ticket = decltype(as_sender(ticket{}));
using of_work = decltype(submit_sender(std::declval<runtime&>(), nothing));

template <class Sender, class Receiver>
concept connects = requires(Sender&& from, Receiver&& to) {
  exec::connect(std::forward<Sender>(from), std::forward<Receiver>(to));
};

template <class Work>
concept submits = requires(runtime& rt, Work&& what) {
  submit_sender(rt, std::forward<Work>(what));
};

static_assert(exec::sender_in<of_ticket, exec::env_of_t<recorder>>);
static_assert(exec::sender_in<of_work, exec::env_of_t<recorder>>);
static_assert(exec::sender_to<of_ticket, recorder> && exec::sender_to<of_ticket, plain_recorder>);
static_assert(exec::operation_state<exec::connect_result_t<of_work, recorder>>);
static_assert(std::same_as<exec::completion_signatures_of_t<of_ticket, exec::env_of_t<recorder>>,
                           exec::completion_signatures<exec::set_value_t(),
                                                       exec::set_error_t(std::exception_ptr),
                                                       exec::set_stopped_t()>>);
// A ticket cannot be copied. A lazy sender is used again.
static_assert(!connects<of_ticket&, recorder>);
static_assert(connects<of_work&, recorder> && connects<of_work const&, plain_recorder>);
static_assert(!std::move_constructible<exec::connect_result_t<of_ticket, recorder>>);
static_assert(submits<launch> && submits<memory_op&> && submits<callable> && !submits<int>);

class Sender : public guest_test, public ::testing::WithParamInterface<int> {
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
  void stop() { rt_.reset(); }
  [[nodiscard]] bool ends(outcome const& result) {
    return pumping(rt(), [&] { return result.ended(); });
  }
  /// Starts an operation of the sender, and waits until it has completed.
  template <class From>
  [[nodiscard]] ending run(From&& sender, outcome& result) {
    auto operation = exec::connect(std::forward<From>(sender), recorder{result, source_});
    exec::start(operation);
    EXPECT_TRUE(ends(result));
    return result.how();
  }
  outcome last_;
  exec::inplace_stop_source source_;

 private:
  std::optional<runtime> rt_;
};
INSTANTIATE_TEST_SUITE_P(workers, Sender, ::testing::Values(0, 2));

// requirement: the operation completes after the task has ended and not before, on a thread that
// runs continuations
TEST_P(Sender, CompletesAfterTheTask) {
  test_program const kernels{rt()};
  held_word word{rt()};
  auto operation =
      exec::connect(as_sender(rt().submit(word.launch_of(kernels))), recorder{last_, source_});
  exec::start(operation);
  EXPECT_TRUE(pumping(rt(), [&] { return word.started(); }));
  EXPECT_FALSE(last_.ended());
  word.release();
  EXPECT_TRUE(ends(last_));
  EXPECT_EQ(last_.how(), ending::value);
  EXPECT_EQ(last_.thread() == std::this_thread::get_id(), GetParam() == 0);
}

// requirement: the receiver gets the error of the task, also of a lazy sender
TEST_P(Sender, HasTheError) {
  auto const reason = [](outcome const& of) {
    return thrown<std::runtime_error>([&] { std::rethrow_exception(of.error()); });
  };
  outcome lazy;
  EXPECT_EQ(run(as_sender(rt().submit(failing)), last_), ending::error);
  EXPECT_EQ(run(submit_sender(rt(), failing), lazy), ending::error);
  for (outcome const* each : {&last_, &lazy}) { EXPECT_EQ(reason(*each), "the reason"); }
}

// boundary: the task has ended before the sender is connected
TEST_P(Sender, OfAnEndedTaskCompletes) {
  ticket task = rt().submit(nothing);
  task.wait();
  EXPECT_EQ(run(as_sender(std::move(task)), last_), ending::value);
}

// requirement: a cancelled task stops the operation. Its successors have failed
TEST_P(Sender, OfACancelledTaskIsStopped) {
  test_program kernels{rt()};
  launch_gate gate{rt(), kernels, device_ordinal{0}};
  ticket task = rt().submit(nothing, {.after = {gate.gate()}});
  ticket next = rt().submit(kernels.nothing.with_shape({1}, {1})(), {.after = {task}});
  outcome after;
  auto second = exec::connect(as_sender(std::move(next)), plain_recorder{after});
  exec::start(second);
  EXPECT_TRUE(task.cancel());
  EXPECT_EQ(run(as_sender(std::move(task)), last_), ending::stopped);
  gate.open();
  EXPECT_TRUE(ends(after));
  EXPECT_THROW(std::rethrow_exception(after.error()), dependency_failed);
}

// requirement: a lazy sender submits when its operation starts. Each copy submits a task
TEST_P(Sender, LazySenderSubmitsInStart) {
  std::atomic<int> ran{0};
  auto const sender = submit_sender(rt(), [&](task_context&) { ++ran; }, {.label = "lazy"});
  outcome one, two;
  auto first = exec::connect(sender, recorder{one, source_});
  auto second = exec::connect(sender, recorder{two, source_});
  rt().wait_idle();
  EXPECT_EQ(ran, 0);
  exec::start(first);
  exec::start(second);
  EXPECT_TRUE(ends(one) && ends(two));
  EXPECT_EQ(ran, 2);
}

// requirement: launches and memory operations are lazy senders too
TEST_P(Sender, LaunchesAndCopiesAreSenders) {
  test_program const kernels{rt()};
  device_buffer<std::uint32_t> word{rt(), device_ordinal{0}, 1};
  std::uint32_t result = 0;
  outcome wrote, copied;
  auto const write = kernels.write.with_shape({1}, {1})(word, 7u);
  EXPECT_EQ(run(submit_sender(rt(), write), wrote), ending::value);
  EXPECT_EQ(run(submit_sender(rt(), word.copy_to(std::span{&result, 1})), copied), ending::value);
  EXPECT_EQ(result, 7u);
}

// requirement: the error of a refused submit goes to the receiver, inside `start`. The receiver may
// destroy the operation
TEST_P(Sender, RefusedSubmitCompletesInStart) {
  using operation = exec::connect_result_t<of_work, plain_recorder>;
  struct box {
    box(of_work from, plain_recorder to) : held(exec::connect(std::move(from), to)) {}
    operation held;
  };
  std::unique_ptr<box> held;
  std::function<void()> destroy = [&] { held.reset(); };
  held = std::make_unique<box>(submit_sender(rt(), nothing, {.device = device_ordinal{9}}),
                               plain_recorder{last_, &destroy});
  exec::start(held->held);
  EXPECT_EQ(held, nullptr);
  EXPECT_THROW(std::rethrow_exception(last_.error()), unknown_device);
}

// requirement: an empty ticket is refused
TEST_P(Sender, RefusesAnEmptyTicket) { EXPECT_THROW((void)as_sender(ticket{}), invalid_argument); }

// requirement: the runtime completes started operations before it ends. An operation that starts
// later completes inside `start`
TEST_P(Sender, OperationsMayOutliveTheRuntime) {
  outcome later;
  auto open = exec::connect(as_sender(rt().submit(nothing)), recorder{last_, source_});
  auto late = exec::connect(as_sender(rt().submit(failing)), recorder{later, source_});
  exec::start(open);
  stop();
  EXPECT_EQ(last_.how(), ending::value);
  exec::start(late);
  EXPECT_EQ(later.how(), ending::error);
  EXPECT_EQ(later.thread(), std::this_thread::get_id());
}

// requirement: senders of tasks compose with the algorithms of the library. docs/senders.md shows
// this code
TEST(SenderAlgorithms, ThenAndWhenAll) {
  FLOTILLA_NEED_DEVICES(2);
  runtime rt{{.devices = device_spec(2), .workers = 2}};
  std::array<int, 2> result{};
  auto const first = [&](task_context&) { result[0] = 3; };
  auto const second = [&](task_context&) { result[1] = 4; };
  auto both = stdexec::when_all(flotilla::submit_sender(rt, first, {.device = device_ordinal{0}}),
                                flotilla::submit_sender(rt, second, {.device = device_ordinal{1}}));
  auto const sum =
      stdexec::sync_wait(stdexec::then(std::move(both), [&] { return result[0] + result[1]; }));
  EXPECT_EQ(sum, std::tuple{7});
  flotilla::ticket task = rt.submit(first);
  flotilla::ticket other = rt.submit(second);
  stdexec::sync_wait(stdexec::when_all(flotilla::as_sender(std::move(task)),
                                       flotilla::as_sender(std::move(other))));
  EXPECT_EQ(thrown<std::logic_error>([&] {
              exec::sync_wait(exec::then(submit_sender(rt, first),
                                         [] { throw std::logic_error{"of the function"}; }));
            }),
            "of the function");
}

// requirement: if a sender of when_all fails, the others are cancelled. The one that fails is on
// another device than the held kernel, which may delay it
TEST(SenderAlgorithms, FailureCancelsTheOthers) {
  FLOTILLA_NEED_DEVICES(2);
  runtime rt{{.devices = device_spec(2), .workers = 2}};
  test_program kernels{rt};
  launch_gate gate{rt, kernels, device_ordinal{1}};
  bool ran = false;
  EXPECT_EQ(thrown<std::runtime_error>([&] {
              exec::sync_wait(exec::when_all(
                  submit_sender(rt, [&](task_context&) { ran = true; },
                                {.device = device_ordinal{1}, .after = {gate.gate()}}),
                  submit_sender(rt, failing, {.device = device_ordinal{0}})));
            }),
            "the reason");
  gate.open();
  rt.wait_idle();
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace flotilla::test
