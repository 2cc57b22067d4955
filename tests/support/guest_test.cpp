// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "support/guest_test.hpp"

#include <flotilla/testing/fault_injection.hpp>

#include "support/devices.hpp"
#include "support/driver_in_use.hpp"

namespace flotilla::test {

void guest_test::SetUp() {
  FLOTILLA_NEED_DEVICES(1);
  ASSERT_EQ(stack_depth(), 0u) << "an earlier test left a context on this thread's stack";
  ASSERT_EQ(current_context(), nullptr);
  handles_before_ = live_handles();
}

void guest_test::TearDown() {
  if (devices_there() == 0) { return; }
  testing::clear_faults();
  EXPECT_EQ(current_context(), nullptr);
  EXPECT_EQ(stack_depth(), 0u);
  EXPECT_EQ(live_handles(), handles_before_)
      << "the test leaked driver handles or freed handles of other tests";
}

}  // namespace flotilla::test
