// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A lane whose device has lost the number of a batch, and whose stream waits for another lane.

#include "dispatch/lane/wait_events.hpp"

#include "unit/dispatch/lane/lane_test.hpp"

namespace flotilla::dispatch {
namespace {

class WaitEvents : public lane_test {};

// requirement: a lane finds the end of a batch whose number was lost, although its stream waits
TEST_F(WaitEvents, TellTheEndOfWorkBeforeAWait) {
  std::uint64_t const number = lane_.begin().number;
  lane_.commit();  // nothing writes the number
  waits_.record(lane_.stream(), number, page_.number(1));
  ASSERT_EQ(api()->stream_wait_value_64(lane_.stream(), page_.device_address(2), 1,
                                        CU_STREAM_WAIT_VALUE_GEQ),
            CUDA_SUCCESS);
  EXPECT_TRUE(test::eventually([&] { return waits_.ended_from(number) == number; }));
  EXPECT_EQ(api()->stream_query(lane_.stream()), CUDA_ERROR_NOT_READY);
  EXPECT_FALSE(lane_.query()) << "the batch is not suspected";
  EXPECT_TRUE(lane_.query(number));
  EXPECT_EQ(page_.number(1), number);
  EXPECT_FALSE(lane_.query(number)) << "the number was reached before";
  page_.raise(2, 1);
}

}  // namespace
}  // namespace flotilla::dispatch
