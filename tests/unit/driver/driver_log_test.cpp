// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "driver/driver_log.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include <flotilla/error/error.hpp>

#include "base/driver_notes.hpp"

namespace flotilla::driver {
namespace {

/// A driver's log: lines that a test writes.
std::string written;     // all of them
bool is_broken = false;  // every call fails

CUresult fake_current(CUlogIterator* next, unsigned flags) {
  if (is_broken || flags != 0) { return CUDA_ERROR_INVALID_VALUE; }
  *next = static_cast<CUlogIterator>(written.size());
  return CUDA_SUCCESS;
}
CUresult fake_dump(CUlogIterator* next, char* buffer, std::size_t* bytes, unsigned flags) {
  if (is_broken || flags != 0) { return CUDA_ERROR_INVALID_VALUE; }
  std::string const text = written.substr(*next);
  if (text.size() + 1 > *bytes) { return CUDA_ERROR_INVALID_VALUE; }
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  *bytes = text.size();
  *next = static_cast<CUlogIterator>(written.size());
  return CUDA_SUCCESS;
}

class DriverLog : public ::testing::Test {
 protected:
  void SetUp() override {
    written = "[old] before flotilla\n";
    is_broken = false;
  }
  void TearDown() override { base::set_driver_notes(nullptr); }
  static std::string text_of_error() {
    return driver_error{driver_status::invalid_value, "cuCall", "device 1"}.what();
  }
  static constexpr char plain[] = "cuCall failed on device 1: CUDA_ERROR_INVALID_VALUE (1)";
  driver_log::entries const entries_{&fake_current, &fake_dump};
};

// requirement: each note is returned once, and notes from before are not returned
TEST_F(DriverLog, ReturnsWhatWasAdded) {
  driver_log log{entries_};
  EXPECT_EQ(log.take(), "");
  written += "[1] the grid is too large\n";
  EXPECT_EQ(log.take(), "[1] the grid is too large\n");
  EXPECT_EQ(log.take(), "");
}

// requirement: after many failed calls, the newest whole lines are returned
TEST_F(DriverLog, ReturnsTheNewestLinesOfALongLog) {
  driver_log log{entries_};
  for (int i = 0; i < 500; ++i) { written += "[" + std::to_string(1000 + i) + "] refused\n"; }
  std::string const text = log.take();
  EXPECT_LE(text.size(), 2000u);
  EXPECT_GT(text.size(), 1900u);
  EXPECT_TRUE(text.starts_with("[1")) << text;
  EXPECT_TRUE(text.ends_with("[1499] refused\n")) << text;
}

// requirement: an older driver has no log
TEST_F(DriverLog, ADriverWithoutALogIsNoError) {
  EXPECT_EQ(driver_log{{}}.take(), "");
  is_broken = true;
  driver_log broken{entries_};
  is_broken = false;
  written += "x\n";
  EXPECT_EQ(broken.take(), "");
}

// error guess
TEST_F(DriverLog, ALogThatFailsLaterIsNoError) {
  driver_log log{entries_};
  written += std::string(5000, 'x');
  EXPECT_EQ(log.take(), "");
  is_broken = true;
  EXPECT_EQ(log.take(), "");
}

// requirement
TEST_F(DriverLog, ErrorsEndWithTheNotes) {
  EXPECT_EQ(text_of_error(), plain);
  base::set_driver_notes([] { return std::string{"the grid is too large\n"}; });
  EXPECT_EQ(text_of_error(), std::string{plain} + "; the driver's log: the grid is too large");
  base::set_driver_notes([] { return std::string{}; });
  EXPECT_EQ(text_of_error(), plain);
}

// requirement: the entries are optional, and both are needed
TEST_F(DriverLog, IsTakenFromADriverThatHasIt) {
  use_log_of([](char const* name, int, char const*) -> void* {
    return std::strcmp(name, "cuLogsCurrent") == 0 ? reinterpret_cast<void*>(&fake_current)
                                                   : nullptr;
  });
  written += "[1] note\n";
  EXPECT_EQ(text_of_error(), plain);
  use_log_of([](char const* name, int version, char const*) -> void* {
    EXPECT_EQ(version, 12090);
    return std::strcmp(name, "cuLogsCurrent") == 0 ? reinterpret_cast<void*>(&fake_current)
                                                   : reinterpret_cast<void*>(&fake_dump);
  });
  written += "[2] note\n";
  EXPECT_EQ(text_of_error(), std::string{plain} + "; the driver's log: [2] note");
  EXPECT_EQ(text_of_error(), plain);
}

}  // namespace
}  // namespace flotilla::driver
