// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// How a process finds its drivers. A process searches only once, so most tests run in a child
// process.

#include <gtest/gtest.h>

#include <flotilla/device/driver_report.hpp>
#include <flotilla/error/error.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "cpu_driver/api/control.hpp"
#include "driver/cpu_devices.hpp"
#include "driver/library.hpp"
#include "support/child.hpp"
#include "support/thrown.hpp"

namespace flotilla::driver {
namespace {

using test::AllOf;
using test::HasSubstr;

void use(char const* file) { setenv("FLOTILLA_LIBCUDA", file, 1); }

/// Checks that CPU devices are available. This must be so whatever libcuda is found.
void expect_cpu_devices() {
  ASSERT_NE(cpu_driver().api, nullptr) << cpu_driver().text;
  EXPECT_EQ(cpu_driver().api->kind, device_kind::cpu);
  EXPECT_GE(cpu_driver().devices, 1);
  cpu_control().ensure_devices(5);
  int count = 0;
  EXPECT_EQ(cpu_driver().api->device_get_count(&count), CUDA_SUCCESS);
  EXPECT_GE(count, 5) << "cpu_control() and cpu_driver() must be one driver";
}

// requirement: if FLOTILLA_CPU_INJECT contains an invalid rule, the error names the rule, and none
// of the rules is applied
TEST(Library, RefusesInvalidFaultsByName) {
  for (std::string const faults :
       {"nonsense", "fail=cuNoSuchEntry@1:CUDA_ERROR_OUT_OF_MEMORY", "fail=cuLaunchKernel",
        "fail=cuLaunchKernel@x:CUDA_ERROR_OUT_OF_MEMORY", "fail=cuLaunchKernel@1:NO_SUCH_STATUS",
        "slow=0:-1", "slow=x:2", "delay=cuLaunchKernel:x", "capacity=0:lots"}) {
    EXPECT_THAT(test::thrown<invalid_argument>([&] { inject(faults); }), HasSubstr(faults));
  }
  EXPECT_THAT(test::thrown<invalid_argument>(
                  [] { inject("fail=cuDeviceGetName@1:CUDA_ERROR_TIMEOUT,nonsense"); }),
              HasSubstr("nonsense"));
  char name[64] = "";
  EXPECT_EQ(cpu_driver().api->device_get_name(name, sizeof name, 0), CUDA_SUCCESS);
}

// regression: the exception contained only CUDA_ERROR_INVALID_VALUE, and the reason was on stderr
TEST(Library, NamesTheInvalidEnvironmentVariable) {
  using variable = std::pair<char const*, char const*>;
  for (auto const& [name, value] :
       {variable{"FLOTILLA_DEVICES", "cpu:99"}, variable{"FLOTILLA_CPU_MEMORY", "plenty"},
        variable{"FLOTILLA_CPU_INJECT", "fail=cuNope@1:CUDA_ERROR_TIMEOUT"}}) {
    FLOTILLA_EXPECT_IN_CHILD([name = name, value = value] {
      setenv(name, value, 1);
      testing::internal::CaptureStderr();
      EXPECT_THAT(test::thrown<invalid_argument>([] { static_cast<void>(cpu_driver()); }),
                  AllOf(HasSubstr(name), HasSubstr(value)));
      EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
      unsetenv(name);
      expect_cpu_devices();
    });
  }
}

// requirement
TEST(Library, IsNamedIfItIsMissing) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    use("/no/such/libcuda.so.1");
    EXPECT_EQ(gpu_driver().api, nullptr);
    EXPECT_EQ(gpu_driver().devices, 0);
    EXPECT_THAT(gpu_driver().text,
                AllOf(HasSubstr("no driver"), HasSubstr("/no/such/libcuda.so.1")));
    EXPECT_THAT(cpu_driver().text, HasSubstr("built in"));
    expect_cpu_devices();
  });
}

// requirement
TEST(Library, IsNamedIfItIsNoLibrary) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    std::filesystem::path const file =
        std::filesystem::temp_directory_path() / ("no_library_" + std::to_string(getpid()));
    std::ofstream{file} << "no library";
    use(file.c_str());
    EXPECT_THAT(gpu_driver().text, AllOf(HasSubstr("no driver"), HasSubstr(file.string())));
    EXPECT_EQ(gpu_driver().api, nullptr);
    expect_cpu_devices();
    std::filesystem::remove(file);
  });
}

// error guess: FLOTILLA_LIBCUDA names a library that is not a libcuda
TEST(Library, WithoutCuInitIsNoDriver) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    use("libdl.so.2");
    EXPECT_THAT(gpu_driver().text,
                AllOf(HasSubstr("no driver"), HasSubstr("libdl.so.2"), HasSubstr("cuInit")));
    EXPECT_EQ(gpu_driver().api, nullptr);
    expect_cpu_devices();
  });
}

// requirement: flotilla recognises the stub of libcuda that the CUDA toolkit contains. The stub
// exports every entry point, and all of them return the same error.
TEST(Library, OfTheToolkitIsDetectedAsAStub) {
  if (*FLOTILLA_TEST_STUB == '\0') { GTEST_SKIP() << "this toolkit has no stub of libcuda"; }
  FLOTILLA_EXPECT_IN_CHILD([] {
    use(FLOTILLA_TEST_STUB);
    EXPECT_EQ(gpu_driver().api, nullptr);
    EXPECT_THAT(gpu_driver().text, HasSubstr("stub"));
    expect_cpu_devices();
  });
}

// requirement: flotilla's drop-in (a libcuda.so.1 for CPU devices) does not count as a GPU driver.
// CPU devices use the drop-in instead of the CPU driver that is built into the library.
TEST(Library, OfOurDropInServesCpuDevices) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    use(FLOTILLA_TEST_DROPIN);
    EXPECT_EQ(gpu_driver().api, nullptr);
    EXPECT_THAT(gpu_driver().text, HasSubstr("CPU driver"));
    EXPECT_THAT(cpu_driver().text, AllOf(HasSubstr("drop-in"), HasSubstr(FLOTILLA_TEST_DROPIN)));
    EXPECT_NE(&cpu_control(), &cpu_driver::control())
        << "the drop-in must replace the built-in CPU driver";
    EXPECT_EQ(cpu_control().version, cpu_driver::flotilla_cpu_driver_control::current_version);
    expect_cpu_devices();
  });
}

// requirement: flotilla loads a GPU driver through cuGetProcAddress, and reports the driver's
// version
TEST(Library, OfGpusIsReportedWithItsVersion) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    use(FLOTILLA_TEST_GUISE);
    ASSERT_NE(gpu_driver().api, nullptr) << gpu_driver().text;
    EXPECT_EQ(gpu_driver().api->kind, device_kind::gpu);
    EXPECT_GE(gpu_driver().devices, 1);
    EXPECT_THAT(gpu_driver().text, AllOf(HasSubstr("CUDA 1"), HasSubstr(FLOTILLA_TEST_GUISE)));
    EXPECT_THAT(cpu_driver().text, HasSubstr("built in"));
    expect_cpu_devices();
  });
}

// requirement
TEST(Library, WithoutARequiredEntryIsTooOld) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    use(FLOTILLA_TEST_GUISE);
    setenv("FLOTILLA_TEST_GUISE_HIDE", "cuKernelGetParamInfo", 1);
    EXPECT_EQ(gpu_driver().api, nullptr);
    EXPECT_THAT(gpu_driver().text,
                AllOf(HasSubstr("no usable driver"), HasSubstr("cuKernelGetParamInfo"),
                      HasSubstr(FLOTILLA_TEST_GUISE), HasSubstr("12.4")));
  });
}

// requirement
TEST(Library, WithoutADeviceReportsThat) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    use(FLOTILLA_TEST_GUISE);
    setenv("FLOTILLA_TEST_GUISE_INIT", std::to_string(CUDA_ERROR_NO_DEVICE).c_str(), 1);
    EXPECT_EQ(gpu_driver().api, nullptr);
    EXPECT_THAT(gpu_driver().text, AllOf(HasSubstr("no device"), HasSubstr(FLOTILLA_TEST_GUISE)));
  });
}

// requirement
TEST(Library, ThatDoesNotStartIsReportedWithItsStatus) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    use(FLOTILLA_TEST_GUISE);
    setenv("FLOTILLA_TEST_GUISE_INIT", std::to_string(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH).c_str(),
           1);
    EXPECT_EQ(gpu_driver().api, nullptr);
    EXPECT_THAT(gpu_driver().text, HasSubstr("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"));
  });
}

// requirement: the report lists the devices from which `auto` chooses
TEST(Library, IsReported) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    use(FLOTILLA_TEST_GUISE);
    driver_report const seen = describe_drivers();
    EXPECT_TRUE(seen.gpus);
    ASSERT_FALSE(seen.devices.empty());
    EXPECT_EQ(seen.devices[0].kind, device_kind::gpu);
  });
  FLOTILLA_EXPECT_IN_CHILD([] {
    use("/no/such/libcuda.so.1");
    driver_report const seen = describe_drivers();
    EXPECT_FALSE(seen.gpus);
    EXPECT_THAT(seen.gpu_text, HasSubstr("/no/such/libcuda.so.1"));
    EXPECT_THAT(seen.cpu_text, HasSubstr("built in"));
    ASSERT_FALSE(seen.devices.empty());
    EXPECT_EQ(seen.devices[0].kind, device_kind::cpu);
  });
}

}  // namespace
}  // namespace flotilla::driver
