// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Properties of a context: its device, its API version and its stream priorities.
#include <flotilla/testing/fault_injection.hpp>

#include "contexts_test.hpp"

#include <algorithm>
#include <climits>
#include <utility>

#include "cpu_driver/api/control.hpp"
#include "driver/library.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

using ContextQuestions = contexts_test;

// C2.33: `cuCtxGetDevice` returns the device of the current context
TEST_F(ContextQuestions, TheDeviceIsTheCurrentContexts) {
  int const devices = std::min(2, devices_there());
  for (int i = 0; i < devices; ++i) {
    create(0, i);
    CUdevice expected{}, found{-1};
    EXPECT_OK(cu().device_get(&expected, i));
    EXPECT_OK(cu().ctx_get_device(&found));
    EXPECT_EQ(found, expected);
  }
  for (int i = 0; i < devices; ++i) { pop(); }
}

// C2.24 C2.26: the API version of a context is not the version of the driver
TEST_F(ContextQuestions, TheApiVersionIsTheContextsAndNotTheDrivers) {
  CUcontext const made = floating();
  unsigned version = 0;
  EXPECT_OK(cu().ctx_get_api_version(made, &version)) << "the context need not be current";
  EXPECT_EQ(version, 3020u);
  int of_driver = 0;
  EXPECT_OK(cu().driver_get_version(&of_driver));
  EXPECT_GE(of_driver, 12040);
}

// C2.25: for a null handle, `cuCtxGetApiVersion` returns the version of the current context
TEST_F(ContextQuestions, NoHandleAsksTheCurrentContext) {
  CUcontext const made = create();
  unsigned by_null = 0, by_handle = 1;
  EXPECT_OK(cu().ctx_get_api_version(nullptr, &by_null));
  EXPECT_OK(cu().ctx_get_api_version(made, &by_handle));
  EXPECT_EQ(by_null, by_handle);
  pop();
}

// C2.41 C2.42 C2.43: a lower number is a greater priority, and a stream can have every priority of
// the range
TEST_F(ContextQuestions, PrioritiesRangeFromTheGreatestToTheLeast) {
  create();
  int least = INT_MIN, greatest = INT_MAX;
  EXPECT_OK(cu().ctx_get_stream_priority_range(&least, &greatest));
  EXPECT_LE(greatest, least);
  for (int priority = greatest; priority <= least; ++priority) {
    CUstream const made = stream(priority);
    int got = INT_MAX;
    EXPECT_OK(cu().stream_get_priority(made, &got));
    EXPECT_EQ(got, priority);
    EXPECT_OK(cu().stream_destroy(made));
  }
  pop();
}

// C2.44: stream priorities outside the range are clamped
TEST_F(ContextQuestions, PrioritiesOutOfRangeAreClamped) {
  create();
  int least = 0, greatest = 0;
  EXPECT_OK(cu().ctx_get_stream_priority_range(&least, &greatest));
  for (auto const& [asked, expected] :
       {std::pair{greatest - 100, greatest}, std::pair{least + 100, least}}) {
    CUstream const made = stream(asked);
    int got = INT_MAX;
    EXPECT_OK(cu().stream_get_priority(made, &got));
    EXPECT_EQ(got, expected);
  }
  pop();
}

// C2.45: each of the two pointers may be null in `cuCtxGetStreamPriorityRange`
TEST_F(ContextQuestions, PrioritiesNobodyWantsAreNotWritten) {
  create();
  int least = INT_MIN, greatest = INT_MAX, again = INT_MIN;
  EXPECT_OK(cu().ctx_get_stream_priority_range(&least, &greatest));
  EXPECT_OK(cu().ctx_get_stream_priority_range(nullptr, nullptr));
  EXPECT_OK(cu().ctx_get_stream_priority_range(&again, nullptr));
  EXPECT_EQ(again, least);
  EXPECT_OK(cu().ctx_get_stream_priority_range(nullptr, &again));
  EXPECT_EQ(again, greatest);
  pop();
}

// C2.92: a device without stream priorities has the range from 0 to 0. Urgent tasks run there as
// other tasks do
TEST_F(ContextQuestions, ADeviceWithoutPrioritiesHasTheRangeZeroToZero) {
  FLOTILLA_NEED_CPU_DRIVER();
  char error[256] = "";
  EXPECT_EQ(driver::cpu_control().inject("priorities=0:none", error, sizeof error), 0) << error;
  create();
  int least = INT_MIN, greatest = INT_MAX, got = INT_MAX;
  EXPECT_OK(cu().ctx_get_stream_priority_range(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, 0);
  EXPECT_OK(cu().stream_get_priority(stream(-3), &got));
  EXPECT_EQ(got, 0);
  pop();
  runtime rt{{.devices = device_spec(1), .workers = 1}};
  test_program const kernels{rt};
  device_buffer<std::uint32_t> word{rt, device_ordinal{0}, 1};
  ticket const urgent = rt.submit(kernels.write.with_shape({1}, {1})(word, 11u), {.priority = -5});
  ticket const called = rt.submit(
      [&](task_context& context) {
        priority_range const range =
            context_driver::of(rt).adopt(context.context()).stream_priorities();
        EXPECT_EQ(range.least, 0);
        EXPECT_EQ(range.greatest, 0);
        EXPECT_OK(cu().stream_get_priority(context.stream(), &got));
      },
      {.after = {urgent}, .priority = -2});
  std::uint32_t seen = 0;
  rt.submit(word.copy_to(std::span{&seen, 1}), {.after = {called}, .priority = -1}).wait();
  EXPECT_EQ(seen, 11u);
  EXPECT_EQ(got, 0);
  testing::clear_faults();
}

}  // namespace
}  // namespace flotilla::test
