// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A program with a locale that has a decimal comma and groups digits. Each case runs in a process
// of its own, because the locale belongs to the process.

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <locale>
#include <string>

#include <gmock/gmock.h>

#include <flotilla/testing/fault_injection.hpp>

#include "support/child.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

struct comma_and_groups : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// Sets the locale of C++ and, if there is one with a decimal comma, the one of C.
/// @return whether there is one.
bool use_commas() {
  std::locale::global(std::locale{std::locale::classic(), new comma_and_groups});
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) {
    auto const folder =
        std::filesystem::temp_directory_path() / ("flotilla_locale_" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    std::string const make =
        "localedef -i de_DE -f UTF-8 '" + (folder / "de_DE.UTF-8").string() + "' >/dev/null 2>&1";
    ::setenv("LOCPATH", folder.c_str(), 1);
    bool const made = std::system(make.c_str()) == 0;
    bool const is_set = made && std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
    std::filesystem::remove_all(folder);
    if (!is_set) { return false; }
  }
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", 1.5);
  return text == std::string{"1,5"};
}

class Locale : public guest_test {};

// regression: a rule with a fraction was refused, so no runtime started
TEST_F(Locale, FractionsAreRead) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    if (!use_commas()) { std::fputs("only the locale of C++ could be set\n", stderr); }
    ::setenv("FLOTILLA_CPU_INJECT", "slow=1:1.5", 1);
    runtime rt{{.devices = "cpu:2"}};
    testing::slow_kernels(testing::cpu_device{0}, 2.25);
    rt.submit([](task_context&) {}).wait();
    ::setenv("FLOTILLA_CPU_INJECT", "slow=1:1,5", 1);
    EXPECT_THROW(testing::slow_kernels(testing::cpu_device{0}, 0.5), invalid_argument);
  });
}

// requirement: texts have a decimal point, and do not group the digits of numbers
TEST_F(Locale, TextsHaveDecimalPoints) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    static_cast<void>(use_commas());
    ::testing::internal::CaptureStderr();
    {
      runtime rt{{.devices = "cpu:1", .report_calls_longer_than = std::chrono::milliseconds{1}}};
      // Longer than the limit, so that it is reported with its time.
      rt.submit([](task_context&) {
          std::this_thread::sleep_for(std::chrono::milliseconds{3});
        }).wait();
      try {
        device_buffer<char> const too_large{rt, device_ordinal{0}, std::size_t{1} << 60};
        ADD_FAILURE() << "2^60 bytes of memory";
      } catch (driver_error const& why) {
        EXPECT_THAT(why.what(), ::testing::HasSubstr("1152921504606846976"));
      }
    }
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::ContainsRegex("ran for [0-9]+\\.[0-9] ms"));
  });
}

// requirement: printf in a kernel of a CPU device writes a decimal point
TEST_F(Locale, KernelsPrintDecimalPoints) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    if (!use_commas()) { std::exit(0); }
    runtime rt{{.devices = "cpu:1"}};
    program const made = compile(
        rt,
        R"(extern "C" __global__ void half() { if (threadIdx.x == 0) { printf("half is %.1f\n", 0.5); } })",
        {});
    ::testing::internal::CaptureStdout();
    rt.submit(made.kernel("half").over(1).arguments().finish()).wait();
    rt.flush_printf();
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "half is 0.5\n");
  });
}

}  // namespace
}  // namespace flotilla::test
