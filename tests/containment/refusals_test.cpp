// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// What an isolated device cannot do, because its context is in another process: it is refused, and
// the message says why.

#include <gmock/gmock.h>

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/interop.hpp>
#include <flotilla/native.hpp>

#include "support/application.hpp"
#include "support/devices.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using word = std::uint32_t;

/// A runtime with two isolated devices, and an application beside it.
class Refusals : public ::testing::Test {
 protected:
  static constexpr device_ordinal isolated{0}, other{1};
  void SetUp() override {
    FLOTILLA_NEED_CPU_DRIVER();
    runtime_options with{.devices = device_spec(2), .workers = 2};
    with.settings.all.isolation = isolation::process;
    rt_.emplace(std::move(with));
    app_.emplace();
  }
  void TearDown() override {
    rt_.reset();
    app_.reset();
  }
  runtime& rt() { return *rt_; }

  std::optional<runtime> rt_;
  std::optional<application> app_;
};

// requirement: a callable runs, but has no stream and no context
TEST_F(Refusals, CallablesHaveNoStream) {
  int runs = 0;
  rt().submit(
          [&](task_context& task) {
            ++runs;
            EXPECT_FALSE(task.has_stream());
            EXPECT_EQ(task.device().ordinal, isolated);
          },
          {.device = isolated})
      .wait();
  EXPECT_EQ(runs, 1);
  auto const asks_stream = [](task_context& task) { static_cast<void>(native::stream(task)); };
  auto const asks_context = [](task_context& task) { static_cast<void>(native::context(task)); };
  auto const why = AllOf(HasSubstr("device 0"), HasSubstr("is isolated"));
  EXPECT_THAT(
      thrown<invalid_argument>([&] { rt().submit(asks_stream, {.device = isolated}).wait(); }),
      why);
  EXPECT_THAT(
      thrown<invalid_argument>([&] { rt().submit(asks_context, {.device = isolated}).wait(); }),
      why);
  runtime in_process{{.devices = device_spec(1)}};
  in_process.submit(asks_stream).wait();
}

// requirement
TEST_F(Refusals, StreamsOfTheApplicationCannotWait) {
  CUstream const stream = app_->make_stream();
  test_program const program{rt()};
  ticket const task = rt().submit(program.nothing.with_shape({1}, {1})(), {.device = isolated});
  EXPECT_THAT(
      thrown<invalid_argument>([&] { enqueue_wait(task, stream); }),
      AllOf(HasSubstr("enqueue_wait"), HasSubstr("all devices of the runtime are isolated")));
  task.wait();
}

// requirement: kernels of an isolated device get no memory of the application
TEST_F(Refusals, MemoryOfTheApplicationHasNoView) {
  constexpr std::size_t count = 100;
  CUdeviceptr memory = 0;
  app_->inside([&] { return driver_in_use().mem_alloc(&memory, count * sizeof(word)); });
  auto* const words = reinterpret_cast<word*>(memory);
  EXPECT_THAT(
      thrown<invalid_argument>([&] { (void)view_device_memory(rt(), isolated, words, count); }),
      AllOf(HasSubstr("device 0 is isolated"), HasSubstr("device_buffer")));
  device_buffer<word> own{rt(), isolated, count};
  host_buffer<word> pinned{rt(), count};
  EXPECT_EQ(view_device_memory(rt(), isolated, own.data(), count).device(), isolated);
  EXPECT_EQ(view_device_memory(rt(), isolated, pinned.data(), count).device(), isolated);
  app_->inside([&] { return driver_in_use().mem_free(memory); });
}

// requirement
TEST_F(Refusals, CopiesBetweenDevicesAreNotRecorded) {
  device_buffer<word> here{rt(), isolated, 10}, there{rt(), other, 10};
  recording steps{rt()};
  EXPECT_THAT(thrown<invalid_argument>([&] { (void)steps.add(here.copy_from(there)); }),
              HasSubstr("one of these devices is isolated"));
  (void)steps.add(here.span().fill(3));
  steps.finish();
  steps.replay().wait();
  std::vector<word> result(10);
  rt().submit(here.copy_to(std::span{result})).wait();
  EXPECT_EQ(result, std::vector<word>(10, 3));
}

}  // namespace
}  // namespace flotilla::test
