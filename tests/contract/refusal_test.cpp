// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Invalid input that no other test file covers. The error names the invalid value, and tasks that
// were submitted before still run.

#include <functional>
#include <optional>
#include <utility>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Refusal : public contract_test {
 protected:
  /// Submits a task and calls `bad`, which must throw an `Error`. Checks that the submitted task
  /// runs.
  /// @return the message of the error.
  template <class Error>
  std::string refused(std::function<void()> const& bad) {
    device_word value{rt(), last(), 1};
    ticket const before = rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 2u, 5u));
    std::string const message = thrown<Error>(bad);
    before.wait();
    EXPECT_EQ(value.read(), 7u) << "the task that was submitted before the error did not run";
    return message;
  }
  runtime& other() {
    if (!other_) { other_.emplace(options()); }
    return *other_;
  }
  void TearDown() override {
    other_.reset();
    contract_test::TearDown();
  }

 private:
  std::optional<runtime> other_;
};
FLOTILLA_CONTRACT(Refusal);

// requirement
TEST_P(Refusal, EmptyCallableIsRefused) {
  using function = std::function<void(task_context&)>;
  void (*const pointer)(task_context&) = nullptr;
  (void)refused<invalid_argument>([&] { (void)rt().submit(callable{}); });
  (void)refused<invalid_argument>([&] { (void)rt().submit(function{}); });
  (void)refused<invalid_argument>([&] { (void)rt().submit(pointer); });
  (void)refused<invalid_argument>([&] { (void)rt().try_submit(callable{}); });
  EXPECT_THAT(
      refused<invalid_argument>([&] { (void)rt().submit(callable{}, {.label = "empty one"}); }),
      HasSubstr("empty one"));
}

// requirement
TEST_P(Refusal, UnknownDeviceIsRefused) {
  device_ordinal const beyond{static_cast<unsigned>(device_count())};
  std::string const number = std::to_string(device_count());
  EXPECT_THAT(
      refused<unknown_device>([&] { (void)rt().submit([](task_context&) {}, {.device = beyond}); }),
      HasSubstr(number));
  EXPECT_THAT(refused<unknown_device>([&] {
                (void)rt().submit(program().nothing.with_shape({1}, {1})(), {.device = beyond});
              }),
              HasSubstr(number));
  EXPECT_THAT(refused<unknown_device>([&] { (void)rt().effective_settings(beyond); }),
              HasSubstr(number));
  EXPECT_THAT(refused<unknown_device>([&] { (void)rt().memory(beyond); }), HasSubstr(number));
  EXPECT_THAT(refused<unknown_device>([&] { (void)rt().counters(beyond); }), HasSubstr(number));
}

// requirement
TEST_P(Refusal, TicketOfAnotherRuntimeIsRefused) {
  ticket const foreign = other().submit([](task_context&) {});
  (void)refused<wrong_runtime>(
      [&] { (void)rt().submit([](task_context&) {}, {.after = {foreign}}); });
  (void)refused<wrong_runtime>([&] {
    (void)rt().try_submit(program().nothing.with_shape({1}, {1})(), {.after = {foreign}});
  });
  foreign.wait();
}

// requirement
TEST_P(Refusal, KernelOfAnotherRuntimeIsRefused) {
  test_program const foreign{other()};
  launch const nothing = foreign.nothing.with_shape({1}, {1})();
  (void)refused<wrong_runtime>([&] { (void)rt().submit(nothing); });
  other().submit(nothing).wait();
}

// requirement
TEST_P(Refusal, BufferOfAnotherRuntimeIsRefused) {
  device_buffer<std::uint32_t> foreign{other(), first(), 1}, own{rt(), first(), 1};
  (void)refused<wrong_runtime>([&] { (void)program().write.with_shape({1}, {1})(foreign, 1u); });
  (void)refused<wrong_runtime>([&] { (void)rt().submit(foreign.fill(1)); });
  // error guess: a copy is refused even if only its source or only its destination belongs to
  // another runtime
  (void)refused<wrong_runtime>([&] { (void)rt().submit(own.copy_to(foreign)); });
  (void)refused<wrong_runtime>([&] { (void)rt().submit(foreign.copy_to(own)); });
}

// regression: a negative number of threads became the largest possible grid
TEST_P(Refusal, NegativeThreadCountIsRefusedByValue) {
  int const threads = -5;
  EXPECT_THAT(refused<invalid_argument>([&] { (void)program().nothing.over(threads); }),
              AllOf(HasSubstr("at least 1"), HasSubstr("-5")));
  EXPECT_EQ(program().nothing.over(std::uint8_t{200}, 100).operator()().grid().x, 2u);
}

// requirement: a task that submit refuses is not counted
TEST_P(Refusal, RefusedTaskIsNotCounted) {
  (void)rt().submit([](task_context&) {}, {.device = first()});
  rt().wait_idle();
  std::uint64_t const before = rt().counters(first()).tasks;
  EXPECT_THROW((void)rt().submit(callable{}, {.device = first()}), invalid_argument);
  EXPECT_THROW((void)rt().submit(program().nothing.over(0)(), {.device = first()}),
               invalid_argument);
  rt().wait_idle();
  EXPECT_EQ(rt().counters(first()).tasks, before);
}

// requirement: if the driver refuses a launch with a status that is not sticky, only that task
// fails. The message names the driver call, the status, the kernel, the label, the device, and the
// requested and allowed shared memory
TEST_P(Refusal, RefusedLaunchFailsAlone) {
  device_word value{rt(), last(), 1};
  std::vector<ticket> good;
  good.push_back(rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 1u, 1u)));
  ticket const bad =
      rt().submit(refused_launch(program()), {.device = last(), .label = "step seven"});
  good.push_back(rt().submit(program().step.with_shape({1}, {1})(value.buffer(), 1u, 1u),
                             {.after = {good[0]}}));
  auto const message = thrown<driver_error>([&] { bad.wait(); });
  EXPECT_THAT(message,
              AllOf(HasSubstr("cuLaunch"), HasSubstr("CUDA_ERROR_"), HasSubstr("nothing"),
                    HasSubstr("step seven"), HasSubstr("device " + std::to_string(last().value)),
                    HasSubstr("67108864 bytes of dynamic shared memory"),
                    HasSubstr("at most 1024 threads and 232448 bytes of dynamic shared memory")));
  good.back().wait();
  EXPECT_EQ(value.read(), 3u);
}

// requirement: a launch that is assigned takes over what `submit` must check, and nothing is left
// of what it was before
TEST_P(Refusal, AssignedLaunchesAreChecked) {
  device_word sum{rt(), last()};
  launch const valid = program().add.with_shape({1}, {1})(sum.buffer(), 1u);
  launch const empty = program().add.with_shape({0}, {1})(sum.buffer(), 1u);
  launch const clustered = program().add.with_shape({1}, {1}).cluster({3})(sum.buffer(), 1u);
  launch one{valid};
  for (bool const moves : {false, true}) {
    auto const assign = [&](launch const& from) {
      launch copy{from};
      if (moves) {
        one = std::move(copy);
      } else {
        one = copy;
      }
    };
    for (launch const* const bad : {&empty, &clustered}) {
      assign(*bad);
      (void)refused<invalid_argument>([&] { (void)rt().submit(one); });
      (void)refused<invalid_argument>([&] { rt().post(one); });
      (void)refused<invalid_argument>([&] { (void)rt().submit(one, {.device = last()}); });
      assign(valid);
      rt().submit(one).wait();
    }
    launch const gone = std::move(one);
    (void)refused<invalid_argument>([&] { (void)rt().submit(one); });
    one = gone;
  }
  EXPECT_EQ(sum.read(), 4u);
}

}  // namespace
}  // namespace flotilla::test
