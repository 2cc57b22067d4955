// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The check of the order inside a recording, and between its replays and other tasks.

#include <optional>

#include <flotilla/flotilla.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using word = std::uint32_t;

class CheckOrderOfRecording : public guest_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    rt_.emplace(
        runtime_options{.devices = device_spec(1), .workers = 1, .checks = checks{.order = true}});
    program_.emplace(*rt_);
    x_.emplace(*rt_, device_ordinal{0}, 8);
    y_.emplace(*rt_, device_ordinal{0}, 8);
  }
  void TearDown() override {
    x_.reset();
    y_.reset();
    program_.reset();
    rt_.reset();
    guest_test::TearDown();
  }
  [[nodiscard]] launch writes(device_buffer<word>& where) const {
    return program_->write.with_shape({1}, {1})(where, 7u);
  }
  [[nodiscard]] launch copies(device_buffer<word>& to, device_buffer<word> const& from) const {
    return program_->copy.with_shape({1}, {1})(to, from);
  }
  template <class Call>
  static std::string refused(Call const& call) {
    return thrown<missing_dependency>([&] { static_cast<void>(call()); });
  }

  std::optional<runtime> rt_;
  std::optional<test_program> program_;
  std::optional<device_buffer<word>> x_, y_;
};

// requirement: each kind of task is compared with the tasks before it. A task that was refused was
// not added, so the program can add it with its predecessors
TEST_F(CheckOrderOfRecording, FindsAMissingEntryOfAfter) {
  host_buffer<word> host{*rt_, 8};
  auto &x = *x_, &y = *y_;
  recording steps{*rt_};
  auto const filled = steps.add(x.fill(6));
  std::string const text = refused([&] { return steps.add(writes(x)); });
  EXPECT_THAT(text, AllOf(HasSubstr("a fill on device 0, task 0 of the recording"),
                          HasSubstr("kernel 'write_value', task 1 of the recording"),
                          HasSubstr("recorded_options::after")));
  auto const written = steps.add(writes(x), {.after = {filled}});
  EXPECT_THAT(refused([&] { return steps.add(x.copy_to(host), {.after = {filled}}); }),
              HasSubstr("kernel 'write_value', task 1 of the recording"));
  auto const read = steps.add(x.copy_to(host), {.after = {written}});
  auto const also_read = steps.add(copies(y, x), {.after = {written}});
  EXPECT_THAT(refused([&] { return steps.add(x.copy_from(host), {.after = {also_read}}); }),
              HasSubstr("a copy from device 0 to the host"));
  steps.add(x.copy_from(host), {.after = {read, also_read}});
  steps.replay().wait();
  EXPECT_EQ(host[0], 7u);
}

// requirement: reads and other memory need no order
TEST_F(CheckOrderOfRecording, AcceptsWhatNeedsNoOrder) {
  host_buffer<word> host{*rt_, 8};
  auto &x = *x_, &y = *y_;
  recording steps{*rt_};
  steps.add(x.copy_to(host));
  steps.add(copies(y, x));
  device_buffer<word> third{*rt_, device_ordinal{0}, 8};
  steps.add(third.fill(1));
  steps.replay().wait();
}

// requirement: tasks that were replaced are compared at the next replay, when all are replaced
TEST_F(CheckOrderOfRecording, ComparesReplacedTasks) {
  auto &x = *x_, &y = *y_;
  recording steps{*rt_};
  auto const one = steps.add(writes(x));
  auto const other = steps.add(writes(y));
  steps.replay().wait();
  steps.set(one, writes(y));
  steps.set(other, writes(x));
  steps.replay().wait();
  steps.set(one, writes(x));
  EXPECT_THAT(refused([&] { return steps.replay(); }),
              AllOf(HasSubstr("task 0 of the recording"), HasSubstr("task 1 of the recording")));
  steps.set(other, writes(y));
  steps.replay().wait();
  recording before_its_end{*rt_};
  auto const first = before_its_end.add(writes(x));
  before_its_end.add(writes(y));
  before_its_end.set(first, writes(y));
  EXPECT_THAT(refused([&] {
                before_its_end.finish();
                return 0;
              }),
              HasSubstr("of the recording"));
}

// requirement: a replay is compared with plain tasks and with replays of other recordings
TEST_F(CheckOrderOfRecording, ComparesReplaysWithOtherTasks) {
  auto& x = *x_;
  recording steps{*rt_}, others{*rt_};
  steps.add(writes(x));
  others.add(x.fill(3));
  ticket const replayed = steps.replay();
  EXPECT_THAT(refused([&] { return others.replay(); }), HasSubstr("a replay on device 0"));
  EXPECT_THAT(refused([&] { return rt_->submit(writes(x)); }), HasSubstr("a replay on device 0"));
  ticket const second = others.replay({.after = {replayed}});
  ticket const plain = rt_->submit(writes(x), {.after = {second}});
  EXPECT_THAT(refused([&] { return steps.replay(); }), HasSubstr("kernel 'write_value'"));
  steps.replay({.after = {plain}}).wait();
}

}  // namespace
}  // namespace flotilla::test
