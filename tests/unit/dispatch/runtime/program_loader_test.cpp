// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// If any driver call fails while a program is loaded, nothing of the program remains in the
// runtime's tables.

#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

class LoadingMidway : public guest_test {};

// regression: a load failed after it had read the parameters of a kernel. The parameters stayed in
// the table, and the next kernel got them.
TEST_F(LoadingMidway, LeavesNothingBehind) {
  runtime rt{{.devices = "cpu:2", .workers = 0}};
  for (char const* const call :
       {"cuLibraryLoadData", "cuLibraryGetKernelCount", "cuLibraryEnumerateKernels",
        "cuKernelGetFunction", "cuFuncLoad", "cuKernelGetName", "cuKernelGetParamInfo"}) {
    for (unsigned nth = 1; nth <= 4; ++nth) {
      testing::fail_call(call, nth, driver_status::out_of_memory);
      try {
        static_cast<void>(rt.load(test_image()));
        EXPECT_GT(nth, 1u) << call << " is never called";
      } catch (driver_error const& error) {
        EXPECT_EQ(error.call(), call);
        EXPECT_THAT(error.what(), HasSubstr(std::string{test_image().name}));
      }
      testing::clear_faults();
    }
    // The constructor of test_program compares the parameters of each kernel. It throws if an
    // offset or a size is wrong.
    test_program const good{rt};
    EXPECT_EQ(good.loaded.kernel_names().size(), rt.load(test_image()).kernel_names().size());
  }
}

}  // namespace
}  // namespace flotilla::test
