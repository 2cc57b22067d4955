// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Errors of the streams of a CPU device. The tests use no runtime.

#include "dispatch/lane/stream_health.hpp"

#include <flotilla/testing/fault_injection.hpp>

#include "unit/dispatch/lane/lane_set_test.hpp"

namespace flotilla::dispatch {
namespace {

class StreamHealth : public open_lanes_test {
 protected:
  /// Queries the streams. The driver answers the query with `status`.
  stream_health::answer query(driver_status status) {
    testing::fail_call("cuStreamQuery", 1, status);
    stream_health::answer const found = health_.query();
    testing::clear_faults();
    return found;
  }
  stream_health health_{context_, lanes_};
};

// requirement: each query finds an error. An error is final if it is sticky, or if eight queries in
// a row have failed
TEST_F(StreamHealth, TellsWhichErrorsAreFinal) {
  EXPECT_EQ(health_.query().status, CUDA_SUCCESS);
  stream_health::answer const sticky = query(driver_status::launch_failed);
  EXPECT_EQ(sticky.status, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_TRUE(sticky.final);
  EXPECT_EQ(health_.query().status, CUDA_SUCCESS);
  for (int in_a_row = 1; in_a_row <= 8; ++in_a_row) {
    stream_health::answer const found = query(driver_status::invalid_value);
    EXPECT_EQ(found.status, CUDA_ERROR_INVALID_VALUE) << in_a_row;
    EXPECT_EQ(found.final, in_a_row == 8) << in_a_row;
  }
}

// requirement: nothing is queried during a pause
TEST_F(StreamHealth, AsksNothingDuringAPause) {
  {
    stream_health::pause const pausing{health_};
    EXPECT_EQ(query(driver_status::launch_failed).status, CUDA_SUCCESS);
    EXPECT_FALSE(health_.replace_lost_number(0, 1).has_value());
  }
  EXPECT_EQ(query(driver_status::launch_failed).status, CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace
}  // namespace flotilla::dispatch
