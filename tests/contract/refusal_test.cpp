// Bad input that has no subject of its own: each names the offender, and tasks submitted before
// still end.

#include <functional>
#include <optional>

#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

class Refusal : public contract_test {
 protected:
  /// While a task is open: `bad` throws an `Error`, and the task ends.
  template <class Error>
  std::string refused(std::function<void()> const& bad) {
    device_word const value{rt(), last(), 1};
    ticket const before = rt().submit(program().step.on({1}, {1})(value.buffer(), 2u, 5u));
    std::string const message = thrown<Error>(bad);
    before.wait();
    EXPECT_EQ(value.read(), 7u) << "a task submitted before was lost";
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
TEST_P(Refusal, NullCallable) {
  using function = std::function<void(task_context&)>;
  void (*const pointer)(task_context&) = nullptr;
  (void)refused<invalid_argument>([&] { (void)rt().submit(work{}); });
  (void)refused<invalid_argument>([&] { (void)rt().submit(function{}); });
  (void)refused<invalid_argument>([&] { (void)rt().submit(pointer); });
  (void)refused<invalid_argument>([&] { (void)rt().try_submit(work{}); });
  EXPECT_THAT(
      refused<invalid_argument>([&] { (void)rt().submit(work{}, {.label = "the null one"}); }),
      HasSubstr("the null one"));
}

// requirement
TEST_P(Refusal, DeviceThatIsNotThere) {
  device_ordinal const beyond{static_cast<unsigned>(device_count())};
  std::string const number = std::to_string(device_count());
  EXPECT_THAT(
      refused<unknown_device>([&] { (void)rt().submit([](task_context&) {}, {.device = beyond}); }),
      HasSubstr(number));
  EXPECT_THAT(refused<unknown_device>(
                  [&] { (void)rt().submit(program().nothing.on({1}, {1})(), {.device = beyond}); }),
              HasSubstr(number));
  EXPECT_THAT(refused<unknown_device>([&] { (void)rt().device(beyond); }), HasSubstr(number));
  EXPECT_THAT(refused<unknown_device>([&] { (void)rt().effective_settings(beyond); }),
              HasSubstr(number));
  EXPECT_THAT(refused<unknown_device>([&] { (void)rt().memory(beyond); }), HasSubstr(number));
  EXPECT_THAT(refused<unknown_device>([&] { (void)rt().counters(beyond); }), HasSubstr(number));
}

// requirement
TEST_P(Refusal, TicketOfAnotherRuntime) {
  ticket const foreign = other().submit([](task_context&) {});
  (void)refused<wrong_runtime>(
      [&] { (void)rt().submit([](task_context&) {}, {.after = {foreign}}); });
  (void)refused<wrong_runtime>(
      [&] { (void)rt().try_submit(program().nothing.on({1}, {1})(), {.after = {foreign}}); });
  foreign.wait();
}

// requirement
TEST_P(Refusal, KernelOfAnotherRuntime) {
  test_program const foreign{other()};
  launch const what = foreign.nothing.on({1}, {1})();
  (void)refused<wrong_runtime>([&] { (void)rt().submit(what); });
  other().submit(what).wait();
}

// requirement
TEST_P(Refusal, BufferOfAnotherRuntime) {
  device_buffer<std::uint32_t> const foreign{other(), first(), 1}, own{rt(), first(), 1};
  (void)refused<wrong_runtime>([&] { (void)program().write.on({1}, {1})(foreign, 1u); });
  (void)refused<wrong_runtime>([&] { (void)rt().submit(foreign.fill(1)); });
  // error guess: only one end of the copy is foreign
  (void)refused<wrong_runtime>([&] { (void)rt().submit(own.copy_to(foreign)); });
  (void)refused<wrong_runtime>([&] { (void)rt().submit(foreign.copy_to(own)); });
}

// requirement: what is refused was not queued: nothing of it is counted
TEST_P(Refusal, QueuesNothing) {
  (void)rt().submit([](task_context&) {}, {.device = first()});
  rt().wait_idle();
  std::uint64_t const before = rt().counters(first()).tasks;
  EXPECT_THROW((void)rt().submit(work{}, {.device = first()}), invalid_argument);
  EXPECT_THROW((void)rt().submit(program().nothing.over(0)(), {.device = first()}),
               invalid_argument);
  rt().wait_idle();
  EXPECT_EQ(rt().counters(first()).tasks, before);
}

// requirement: not sticky: that task alone fails, naming call, status, kernel, label and device
TEST_P(Refusal, LaunchThatTheDriverRefusesFailsAlone) {
  device_word const value{rt(), last(), 1};
  std::vector<ticket> good;
  good.push_back(rt().submit(program().step.on({1}, {1})(value.buffer(), 1u, 1u)));
  ticket const bad =
      rt().submit(refused_launch(program()), {.device = last(), .label = "step seven"});
  good.push_back(
      rt().submit(program().step.on({1}, {1})(value.buffer(), 1u, 1u), {.after = {good[0]}}));
  auto const message = thrown<driver_error>([&] { bad.wait(); });
  EXPECT_THAT(message,
              AllOf(HasSubstr("cuLaunch"), HasSubstr("CUDA_ERROR_"), HasSubstr("nothing"),
                    HasSubstr("step seven"), HasSubstr("device " + std::to_string(last().value))));
  good.back().wait();
  EXPECT_EQ(value.read(), 3u);
}

}  // namespace
}  // namespace flotilla::test
