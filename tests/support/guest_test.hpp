// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The base class of every fixture. It checks that a test leaves the driver's state unchanged.

#include <gtest/gtest.h>

#include <cstddef>

namespace flotilla::test {

/// Checks that a test leaves the calling thread's context stack and the number of live driver
/// handles unchanged. A derived fixture destroys its runtimes before it calls this TearDown.
class guest_test : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

 private:
  std::size_t handles_before_ = 0;
};

}  // namespace flotilla::test
