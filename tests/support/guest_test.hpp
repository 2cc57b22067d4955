#pragma once
// The base of every fixture: it checks that flotilla leaves the driver as it found it.

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
