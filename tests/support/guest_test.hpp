#pragma once
// The fixture under every test: flotilla is a guest and leaves everything as found.

#include <gtest/gtest.h>

#include <cstddef>

namespace flotilla::test {

/// Proves that the calling thread's context stack and the number of live driver handles are after
/// the test what they were before. A derived fixture destroys its runtimes before it calls this
/// TearDown.
class guest_test : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

 private:
  std::size_t handles_before_ = 0;
};

}  // namespace flotilla::test
