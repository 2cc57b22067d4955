// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Status codes of drivers: their names, which of them are sticky, and the exceptions that `check`
// throws.

#include <gtest/gtest.h>

#include <flotilla/error/driver_status.hpp>
#include <flotilla/error/error.hpp>

#include "driver/check.hpp"
#include "driver/library.hpp"
#include "support/thrown.hpp"

namespace flotilla::driver {
namespace {

using test::HasSubstr;
using test::thrown;

// requirement: for every status, `to_string` returns the driver's name
TEST(Status, HasTheDriversNames) {
  table const& api = *cpu_driver().api;
  int named = 0;
  for (int value = 0; value <= CUDA_ERROR_UNKNOWN; ++value) {
    char const* name = nullptr;
    if (api.get_error_name(static_cast<CUresult>(value), &name) != CUDA_SUCCESS ||
        name == nullptr) {
      continue;
    }
    EXPECT_EQ(to_string(driver_status{value}), name);
    ++named;
  }
  EXPECT_GT(named, 90);
}

// requirement: the text of a status that this library does not know contains its number
TEST(Status, ThatIsUnknownHasItsNumber) {
  EXPECT_THAT(to_string(driver_status{12345}), HasSubstr("12345"));
}

// requirement: only the status codes that make the driver unusable for the whole process are sticky
TEST(Status, IsStickyIfItPoisonsTheProcess) {
  for (CUresult const each :
       {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION,
        CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC,
        CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE}) {
    EXPECT_TRUE(is_sticky(status_of(each))) << to_string(status_of(each));
  }
  for (CUresult const each :
       {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_READY,
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_NOT_FOUND,
        CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_NOT_SUPPORTED}) {
    EXPECT_FALSE(is_sticky(status_of(each))) << to_string(status_of(each));
  }
}

// requirement
TEST(Check, NamesCallObjectAndStatus) {
  EXPECT_NO_THROW(check(CUDA_SUCCESS, "cuMemAlloc", "device 1"));
  try {
    check(CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc", "device 1");
    ADD_FAILURE() << "nothing was thrown";
  } catch (driver_error const& error) {
    EXPECT_STREQ(error.what(), "cuMemAlloc failed on device 1: CUDA_ERROR_OUT_OF_MEMORY (2)");
    EXPECT_EQ(error.status(), driver_status::out_of_memory);
    EXPECT_EQ(error.call(), "cuMemAlloc");
    EXPECT_EQ(error.subject(), "device 1");
  }
}

// requirement: the object's name is passed as a function, which `check` calls only after a failure
TEST(Check, BuildsTextOnlyForAFailure) {
  int made = 0;
  auto const words = [&] { return "object " + std::to_string(++made); };
  check(CUDA_SUCCESS, "cuInit", words);
  EXPECT_EQ(made, 0);
  EXPECT_THAT(thrown<driver_error>([&] { check(CUDA_ERROR_UNKNOWN, "cuInit", words); }),
              HasSubstr("object 1"));
}

}  // namespace
}  // namespace flotilla::driver
