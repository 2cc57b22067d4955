// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A kernel on a CPU device that causes a signal is named on stderr before the signal goes on.

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

#include <flotilla/flotilla.hpp>
#include <flotilla/kernel/compile.hpp>

#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

class KernelFaultLine : public guest_test {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_CPU_DRIVER();
    guest_test::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  /// Writes to an address that does not exist, with a kernel on the second device.
  static void fault(task_options options = {}) {
    runtime rt{{.devices = device_spec(2), .workers = 1}};
    test_program const program{rt};
    options.device = device_ordinal{1};
    options.label = "step 3";
    auto* const nowhere = reinterpret_cast<std::uint32_t*>(std::uintptr_t{0x10});
    rt.submit(program.write.with_shape({2, 1, 1}, {1})(nowhere, 7u), options).wait();
  }
  /// Returns whether a signal, or a sanitizer's handler, has ended the process.
  static bool has_crashed(int status) {
    return WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
  }
  static constexpr auto line =
      "flotilla: error: kernel 'write_value', label 'step 3', device 1: an invalid access to "
      "address 0x10 in block \\(0, 0, 0\\), thread \\(0, 0, 0\\) \\(signal 11\\)";
};

// requirement: the line names kernel, label and device, whether the task is in a batch or alone
TEST_F(KernelFaultLine, NamesKernelLabelAndDevice) {
  for (bool const batch : {true, false}) {
    EXPECT_EXIT(fault({.batch = batch}), has_crashed, line);
  }
}

// requirement: so it does if the kernel's stack overflows, or if the kernel divides by zero
TEST_F(KernelFaultLine, NamesKernelsWithOtherSignals) {
  auto const run = [](char const* source) {
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    auto const compiled = compile(rt, source);
    device_buffer<int> zero{rt, device_ordinal{0}, 1};
    rt.submit(zero.fill(0)).wait();
    rt.submit(compiled.kernel<int*>("wrong").with_shape({1}, {1})(zero), {.label = "here"}).wait();
  };
  EXPECT_EXIT(run(R"(
__device__ int deep(int volatile* x, int n) {
  int volatile frame[1000];
  frame[n % 1000] = *x;
  return n < 0 ? 0 : deep(x, n + 1) + frame[(n + 1) % 1000];
}
extern "C" __global__ void wrong(int* x) { *x = deep(x, 0); })"),
              has_crashed, "kernel 'wrong', label 'here', device 0: an invalid access");
#if defined(__x86_64__)
  EXPECT_EXIT(run(R"(extern "C" __global__ void wrong(int* x) { *x = 7 / *x; })"), has_crashed,
              "kernel 'wrong', label 'here', device 0: an integer division by zero");
#endif
}

// requirement: the handler of the application is called afterwards
TEST_F(KernelFaultLine, PassesTheSignalOn) {
  auto const fault_with_handler = [] {
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
      ::_exit(info->si_addr == reinterpret_cast<void*>(std::uintptr_t{0x10}) ? 42 : 43);
    };
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, nullptr);
    fault();
  };
  EXPECT_EXIT(fault_with_handler(), ::testing::ExitedWithCode(42), line);
}

// requirement: signals of other threads, and signals that are sent, print no line
TEST_F(KernelFaultLine, LeavesOtherSignalsAlone) {
  auto const fault_elsewhere = [](bool is_sent) {
    struct sigaction action {};
    action.sa_handler = [](int) { ::_exit(44); };
    ::sigaction(SIGSEGV, &action, nullptr);
    runtime rt{{.devices = device_spec(1), .workers = 1}};
    test_program const program{rt};
    rt.submit(program.nothing.with_shape({1}, {1})()).wait();
    if (is_sent) { ::kill(::getpid(), SIGSEGV); }
    *reinterpret_cast<int volatile*>(std::uintptr_t{0x20}) = 1;
  };
  for (bool const is_sent : {false, true}) {
    EXPECT_EXIT(fault_elsewhere(is_sent), ::testing::ExitedWithCode(44), "^$");
  }
}

}  // namespace
}  // namespace flotilla::test
