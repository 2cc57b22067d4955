// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The check of the order: two tasks that use the same memory without an order are found at the
// submit of the later task. Everything that gives tasks an order prevents the report.

#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/task/coroutine.hpp>

#include "support/device_names.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/fire_and_forget.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kept_log.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using word = std::uint32_t;

class CheckOrder : public guest_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    if (!IsSkipped()) { start(2); }
  }
  void TearDown() override {
    stop();
    guest_test::TearDown();
  }
  void start(int workers) {
    stop();
    rt_.emplace(runtime_options{
        .devices = device_spec(1), .workers = workers, .checks = checks{.order = true}});
    program_.emplace(*rt_);
    data_.emplace(*rt_, device_0, 8);
    other_.emplace(*rt_, device_0, 8);
  }
  void stop() {
    data_.reset();
    other_.reset();
    program_.reset();
    rt_.reset();
  }
  runtime& rt() { return *rt_; }
  device_buffer<word>& data() { return *data_; }
  launch writes(device_span<word> where) const {
    return program_->write.with_shape({1}, {1})(where, 7u);
  }
  launch copies(device_span<word> to, device_span<word const> from) const {
    return program_->copy.with_shape({1}, {1})(to, from);
  }
  ticket write_data(task_options const& options = {}) {
    return rt().submit(writes(data()), options);
  }
  /// Submits `what`, which must be refused. @return the message.
  template <class What>
  std::string refused(What const& what, task_options const& options = {}) {
    return thrown<missing_dependency>([&] { static_cast<void>(rt().submit(what, options)); });
  }

  std::optional<runtime> rt_;
  std::optional<test_program> program_;
  std::optional<device_buffer<word>> data_, other_;
};

// requirement: the message names both tasks, their memory, and the missing entry of `after`
TEST_F(CheckOrder, MissingEntryOfAfterIsNamed) {
  ticket const a = rt().submit(writes(data()), {.label = "a"});
  std::string const message = refused(copies(*other_, data().subspan(2, 3)), {.label = "b"});
  EXPECT_THAT(message,
              AllOf(HasSubstr("kernel 'write_value', label 'a'"),
                    HasSubstr("kernel 'copy_value', label 'b'"),
                    HasSubstr("reads and writes 32 bytes at address 0x"), HasSubstr("(argument 0)"),
                    HasSubstr("reads 12 bytes at address 0x"), HasSubstr("(argument 1)"),
                    HasSubstr("add the ticket of task 'a' to the 'after' of task 'b'")));
  rt().submit(copies(*other_, data().subspan(2, 3)), {.after = {a}}).wait();
}

// regression: the exception left the block whose memory an earlier copy used, and the process ended
// without a message. So the log has the message before the exception is thrown
TEST_F(CheckOrder, FindingsAreInTheLog) {
  kept_log const log;
  ticket const a = write_data({.label = "a"});
  std::string const message = refused(writes(data()), {.label = "b"});
  EXPECT_EQ(log.count(message), 1u) << log.text();
  a.wait();
}

// requirement: a refused task was not submitted, and the runtime stays usable
TEST_F(CheckOrder, RuntimeStaysUsableAfterReports) {
  held_word held{rt()};
  ticket const open = rt().submit(held.launch_of(*program_));
  ticket const a = write_data({.after = {open}});
  for (int i = 0; i < 1000; ++i) { EXPECT_NE(refused(writes(data())), ""); }
  EXPECT_THAT(thrown<missing_dependency>([&] { rt().post(data().fill(1)); }), HasSubstr("a fill"));
  EXPECT_THAT(
      thrown<missing_dependency>([&] { static_cast<void>(rt().try_submit(writes(data()))); }),
      HasSubstr("the earlier task"));
  held.release();
  write_data({.after = {a}}).wait();
  // A task that has ended may be open until the worker that drives its device has looked.
  EXPECT_TRUE(eventually([&] { return !rt().pump(); })) << "a refused task has kept its slot";
}

// requirement
TEST_F(CheckOrder, ReadersNeedNoOrderAndDisjointPartsNeither) {
  ticket const a = rt().submit(copies(other_->subspan(0, 1), data()));
  ticket const b = rt().submit(copies(other_->subspan(1, 1), data()));
  EXPECT_THAT(refused(writes(data()), {.after = {a}}), HasSubstr("copy_value"));
  write_data({.after = {a, b}}).wait();
}

// requirement: of a plain pointer, only one object is known to be used
TEST_F(CheckOrder, PlainPointersUseOneObject) {
  auto const write = [&](word* where, task_options const& options = {}) {
    return rt().submit(program_->write.with_shape({1}, {1})(where, 1u), options);
  };
  ticket const a = write(data().data());
  ticket const b = write(data().data() + 1);
  EXPECT_THAT(thrown<missing_dependency>([&] { static_cast<void>(write(data().data() + 1)); }),
              HasSubstr("4 bytes"));
  write_data({.after = {a, b}}).wait();
}

// requirement
TEST_F(CheckOrder, CopiesAndFillsAreChecked) {
  host_buffer<word> pinned{rt(), 8};
  ticket const fill = rt().submit(data().fill(3), {.label = "fill"});
  EXPECT_THAT(refused(data().copy_to(pinned)),
              AllOf(HasSubstr("a fill on device 0, label 'fill'"), HasSubstr("writes 32 bytes"),
                    HasSubstr("a copy from device 0 to the host")));
  EXPECT_THAT(refused(data().copy_to(*other_)), HasSubstr("a copy from device 0 to device 0"));
  ticket const out = rt().submit(data().copy_to(pinned), {.after = {fill}});
  EXPECT_THAT(refused(other_->copy_from(pinned)), HasSubstr("a copy from the host to device 0"));
  EXPECT_THAT(refused(program_->write.with_shape({1}, {1})(pinned.data(), 1u)),
              HasSubstr("a copy from device 0 to the host"));
  rt().submit(other_->copy_from(pinned), {.after = {out}}).wait();
  EXPECT_EQ(pinned[7], 3u);
}

// requirement: every call that tells the host about the end of a task gives later tasks an order
TEST_F(CheckOrder, CallsThatObserveTheEndPreventReports) {
  for (int const workers : {0, 2}) {
    start(workers);
    write_data().wait();
    {
      ticket const a = write_data();
      EXPECT_TRUE(eventually([&] { return a.ready(); }));
    }
    EXPECT_TRUE(write_data().wait_for(std::chrono::minutes{1}));
    {
      ticket const a = write_data();
      EXPECT_EQ(wait_any(a), 0u);
    }
    rt().post(writes(data()));
    rt().wait_idle();
    rt().post(writes(data()));
    EXPECT_TRUE(eventually([&] { return !rt().pump(); }));
    {
      ticket const a = write_data();
      rt().submit(host_task([] {}), {.after = {a}}).wait();
    }
    write_data().wait();
  }
}

// requirement: the end of a task implies the ends of all tasks before it
TEST_F(CheckOrder, ObservedTaskImpliesItsPredecessors) {
  ticket const a = write_data();
  ticket const b = rt().submit([](task_context&) {}, {.after = {a}});
  ticket const c = rt().submit(other_->fill(1), {.after = {b}});
  c.wait();
  write_data().wait();
}

// requirement: a continuation has observed the end of its task
TEST_F(CheckOrder, ContinuationsPreventReports) {
  ticket const a = write_data();
  std::string thrown_inside = "did not run";
  a.then([&](std::exception_ptr) {
    try {
      write_data().wait();
      thrown_inside = "";
    } catch (error const& why) { thrown_inside = why.what(); }
  });
  rt().wait_idle();
  EXPECT_EQ(thrown_inside, "");
  ticket const b = write_data();
  rt().submit(host_task([&](std::exception_ptr) { write_data().wait(); }), {.after = {b}}).wait();
}

// requirement
TEST_F(CheckOrder, CoroutinesPreventReports) {
  std::latch done{1};
  auto const run = [&]() -> fire_and_forget {
    ticket const a = write_data();
    co_await a;
    ticket const b = write_data();
    ticket const behind = rt().submit(host_task([] {}), {.after = {b}});
    co_await behind;
    ticket const c = write_data();
    co_await c;
    done.count_down();
  };
  run();
  done.wait();
}

// requirement: a callable may wait for its stream, so its tasks are later than its predecessors
TEST_F(CheckOrder, TaskSubmittedInsideACallableIsAfterThePredecessorsOfTheCallable) {
  ticket const a = write_data();
  ticket inside;
  rt().submit([&](task_context&) { inside = write_data(); }, {.after = {a}}).wait();
  inside.wait();
}

// requirement: the memory of a destroyed buffer is freed after its tasks, so a new buffer at the
// same address is other memory
TEST_F(CheckOrder, NewBufferAtTheSameAddressIsOtherMemory) {
  for (int i = 0; i < 200; ++i) {
    device_buffer<word> each{rt(), device_0, 64};
    rt().post(each.fill(1));
  }
  rt().wait_idle();
}

// requirement
TEST_F(CheckOrder, ReplaysAreChecked) {
  recording tasks{rt()};
  recorded_task const fill = tasks.add(data().fill(1));
  tasks.add(writes(data()), {.after = {fill}});
  ticket const a = write_data({.label = "a"});
  EXPECT_THAT(
      thrown<missing_dependency>([&] { static_cast<void>(tasks.replay({.label = "again"})); }),
      AllOf(HasSubstr("a replay on device 0, label 'again'"),
            HasSubstr("add the ticket of task 'a' to the 'after' of task 'again'")));
  ticket const b = tasks.replay({.after = {a}, .label = "again"});
  EXPECT_THAT(refused(writes(data())), HasSubstr("a replay on device 0, label 'again'"));
  ticket const c = tasks.replay();
  write_data({.after = {c}}).wait();
  b.wait();
}

// requirement: `set` changes the memory that a recorded task uses
TEST_F(CheckOrder, ReplaysUseTheMemoryThatSetNames) {
  recording tasks{rt()};
  recorded_task const fill = tasks.add(data().fill(1));
  tasks.replay().wait();
  tasks.set(fill, other_->fill(2));
  ticket const a = tasks.replay();
  ticket const b = write_data();
  EXPECT_THAT(refused(writes(*other_)), HasSubstr("a replay"));
  a.wait();
  b.wait();
}

// stress: several threads submit chains of tasks. Each chain has its own memory
TEST_F(CheckOrder, SeveralThreadsSubmitAtTheSameTime) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      device_buffer<word> mine{rt(), device_0, 8};
      ticket last = rt().submit(mine.fill(1));
      for (int k = 0; k < 500; ++k) {
        ticket next = rt().submit(writes(mine), {.after = {last}});
        if (k % 50 == 0) { last.wait(); }
        last = std::move(next);
      }
      EXPECT_NE(refused(mine.fill(2)), "");
      last.wait();
    });
  }
}

// requirement: without the check, nothing is reported
TEST_F(CheckOrder, NothingIsCheckedByDefault) {
  runtime plain{{.devices = device_spec(1)}};
  device_buffer<word> buffer{plain, device_0, 8};
  plain.post(buffer.fill(1));
  plain.post(buffer.fill(2));
}

}  // namespace
}  // namespace flotilla::test
