// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: the end of data, and of the memory that they were made from.

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <flotilla/testing/fault_injection.hpp>

#include "contract/flow_fixture.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

class FlowEnd : public flow_test {
 protected:
  void TearDown() override {
    testing::clear_faults();
    flow_test::TearDown();
  }
};
FLOTILLA_CONTRACT(FlowEnd);

// regression: the destructor returned while a copy read the memory
TEST_P(FlowEnd, DataWaitForCopiesFromMemoryOfTheProgram) {
  word_data copy{fl(), {4096}, "copy"};
  {
    words host = iota(4096), other = iota(4096);
    word_data x{fl(), host, "x"}, y{fl(), other, "y"};
    testing::delay_calls("cuMemcpyHtoDAsync", 2ms);
    fl().post(mix(copy, x, y, 0), {.device = last()});
  }
  words expected(4096);
  mix_on_host(expected.data(), iota(4096).data(), iota(4096).data(), 4096, 0);
  EXPECT_EQ(on_host(copy), expected);
}

// requirement: the same for a host task, which reads the memory itself
TEST_P(FlowEnd, DataWaitForHostTasks) {
  std::atomic<bool> has_ended = false;
  {
    words host = iota(32);
    word_data x{fl(), host, "x"};
    fl().post(uses(read(x)), host_task([&](view<std::uint32_t const>) {
                std::this_thread::sleep_for(5ms);
                has_ended = true;
              }));
  }
  EXPECT_TRUE(has_ended);
}

// requirement: the last tile waits if the data ended before
TEST_P(FlowEnd, TilesWaitForHostTasks) {
  std::atomic<int> ended = 0;
  {
    words host = iota(32);
    std::optional<word_data> x{std::in_place, fl(), host, "x"};
    auto tiles = x->tiles({8});
    x.reset();
    for (auto& each : tiles) {
      fl().post(uses(update(each)), host_task([&](view<std::uint32_t>) {
                  std::this_thread::sleep_for(2ms);
                  ++ended;
                }));
    }
  }
  EXPECT_EQ(ended, 4);
}

// requirement: the destructor waits for nothing but the write-back and memory that the program may
// free
TEST_P(FlowEnd, OtherDataDoNotWait) {
  latch may_end;
  std::atomic<bool> has_ended = false;
  {
    host_buffer<std::uint32_t> pinned{rt(), 32};
    word_data x{fl(), pinned, "x"}, y{fl(), {32}, "y"};
    x.set_write_back(false);
    fl().post(uses(update(x), write(y)), host_task([&](view<std::uint32_t>, view<std::uint32_t>) {
                may_end.wait();
                has_ended = true;
              }));
  }
  EXPECT_FALSE(has_ended);
  may_end.open();
  rt().wait_idle();
  EXPECT_TRUE(has_ended);
}

// requirement: a host task may own its data. regression: the destructor waited for its own task
TEST_P(FlowEnd, HostTasksMayEndTheirOwnData) {
  words host = iota(32);
  auto x = std::make_shared<word_data>(fl(), host, "x");
  latch submitted;
  ::testing::internal::CaptureStderr();
  ticket const task =
      fl().submit(uses(update(*x)), host_task([x, &submitted](view<std::uint32_t> all) {
                    submitted.wait();
                    all(0) = 7;
                  }));
  x.reset();
  submitted.open();
  task.wait();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(host[0], 7u);
}

// requirement: a destructor that cannot wait reports it. regression: it waited forever
TEST_P(FlowEnd, DataThatCannotWaitAreReported) {
  words host = iota(32);
  std::optional<word_data> x{std::in_place, fl(), host, "x"};
  latch submitted;
  ::testing::internal::CaptureStderr();
  ticket const task = fl().submit(uses(update(*x)), host_task([&](view<std::uint32_t>) {
                                    submitted.wait();
                                    x.reset();
                                  }));
  fl().post(uses(read(*x)), host_task([](view<std::uint32_t const>) {}));
  submitted.open();
  task.wait();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("data 'x' ended"), HasSubstr("could not wait")));
  rt().wait_idle();
}

// regression: a cancelled callable that owned the data waited for a copy on the thread that drives
// the device of the copy
TEST_P(FlowEnd, CancelledCallablesMayOwnData) {
  words host = iota(32);
  auto x = std::make_shared<word_data>(fl(), host, "x");
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = last()});
  fl().post(uses(update(*x)), host_task([](view<std::uint32_t> all) { all(0) = 7; }),
            {.after = {held}});
  ticket const task =
      fl().submit(uses(update(*x)), [x](task_context&, view<std::uint32_t>) {}, {.device = last()});
  x.reset();
  EXPECT_TRUE(task.cancel());
  rt().pump();
  word.release();
  rt().wait_idle();
  EXPECT_EQ(host[0], 7u);
}

/// A flow whose runtime checks arguments.
class FlowEndChecks : public guest_test {
 protected:
  void SetUp() override {
    guest_test::SetUp();
    if (IsSkipped()) { return; }
    rt_.emplace(runtime_options{.devices = device_spec(1), .checks = checks{.arguments = true}});
    flow_.emplace(*rt_);
  }
  void TearDown() override {
    flow_.reset();
    rt_.reset();
    guest_test::TearDown();
  }
  [[nodiscard]] runtime& rt() { return *rt_; }
  [[nodiscard]] flow& fl() { return *flow_; }
  [[nodiscard]] static std::string refused(std::function<void()> const& call) {
    return thrown<invalid_argument>(call);
  }
  static constexpr auto nothing = [](view<std::uint32_t>) {};

 private:
  std::optional<runtime> rt_;
  std::optional<flow> flow_;
};

// requirement
TEST_F(FlowEndChecks, BufferThatEndedBeforeItsDataIsNamed) {
  std::optional<host_buffer<std::uint32_t>> buffer{std::in_place, rt(), 32};
  std::optional<device_buffer<std::uint32_t>> on_device{std::in_place, rt(), device_ordinal{0}, 32};
  data<std::uint32_t> x{fl(), *buffer, "x"}, y{fl(), *on_device, {32}, "y"};
  fl().post(uses(update(x)), host_task(nothing));
  buffer.reset();
  on_device.reset();
  EXPECT_THAT(refused([&] { fl().post(uses(update(x)), host_task(nothing), {.label = "late"}); }),
              AllOf(HasSubstr("task 'late': data 'x'"), HasSubstr("a buffer that was destroyed"),
                    HasSubstr("until the data have ended")));
  EXPECT_THAT(refused([&] { static_cast<void>(x.host()); }), HasSubstr("data 'x'"));
  EXPECT_THAT(refused([&] { x.prefetch_to(device_ordinal{0}); }), HasSubstr("data 'x'"));
  EXPECT_THAT(refused([&] { y.prefetch_to_host(); }), HasSubstr("data 'y'"));
}

// requirement
TEST_F(FlowEndChecks, PagesThatWereFreedAreNamed) {
  constexpr std::size_t size = std::size_t{1} << 20;
  void* const pages =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  data<std::uint32_t> x{fl(), {static_cast<std::uint32_t*>(pages), size / 4}, "x"};
  fl().post(uses(update(x)), host_task(nothing));
  static_cast<void>(x.host());
  auto tiles = x.tiles({size / 8});
  ASSERT_EQ(munmap(pages, size), 0);
  EXPECT_THAT(refused([&] { fl().post(uses(update(tiles(1))), host_task(nothing)); }),
              AllOf(HasSubstr("data 'x(1)'"), HasSubstr("which was freed")));
}

}  // namespace
}  // namespace flotilla::test
