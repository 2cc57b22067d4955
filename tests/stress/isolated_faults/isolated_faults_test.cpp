// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// An isolated device faults again and again, and another one digests files. All digests are right,
// and the other device is not disturbed. The faulted device soon runs tasks again, with its memory.
// Nothing grows: no memory, no descriptors, no processes.
//
// FLOTILLA_TEST_FAULTS is the number of faults of each kind. Default: 2.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <test_isolated_faults_kernels.hpp>

#include "driver/device_recovery.hpp"
#include "stress/isolated_faults/digesting.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/inside.hpp"
#include "support/scale.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

using clock = std::chrono::steady_clock;
using word = std::uint32_t;
using std::chrono::duration;

constexpr device_ordinal faulty{0}, busy{1};

double ms(clock::duration time) { return duration<double, std::milli>(time).count(); }

template <class... Parameters>
launch one_thread(program const& loaded, char const* name, Parameters... arguments) {
  return loaded.kernel<Parameters...>(name).with_shape({1}, {1})(arguments...);
}

digesting::digest_kernel digest_kernel_of(program const& loaded) {
  return loaded.kernel<std::byte const*, unsigned long long, unsigned long long, unsigned long long,
                       std::byte*>("sha256_blocks");
}

/// A kind of fault: the name of its kernel, and a launch of it.
struct fault_kind {
  char const* kernel;
  bool on_cpu_devices;
  launch (*make)(program const& loaded, word* memory);
};

fault_kind const kinds[] = {
    {"fault_trap", true, [](program const& p, word*) { return one_thread(p, "fault_trap"); }},
    {"fault_assert", true,
     [](program const& p, word*) { return one_thread(p, "fault_assert", 0); }},
    {"fault_illegal_address", false,
     [](program const& p, word*) {
       return one_thread(p, "fault_illegal_address", reinterpret_cast<word*>(std::uintptr_t{64}));
     }},
    {"fault_misaligned_address", false,
     [](program const& p, word* memory) {
       return one_thread(p, "fault_misaligned_address", reinterpret_cast<char*>(memory));
     }},
    {"fault_stack_overflow", false,
     [](program const& p, word* memory) {
       return one_thread(p, "fault_stack_overflow", 1'000'000u, memory);
     }},
};

/// What this process holds.
struct holdings {
  std::size_t descriptors = 0;
  std::size_t processes = 0;  // children, also ended ones that nobody has reaped
  std::size_t resident = 0;   // bytes
  static holdings now() {
    holdings found;
    for (auto const& each : std::filesystem::directory_iterator{"/proc/self/fd"}) {
      static_cast<void>(each);
      ++found.descriptors;
    }
    std::string const self = std::to_string(::getpid());
    for (auto const& each : std::filesystem::directory_iterator{"/proc"}) {
      std::ifstream file{each.path() / "stat"};
      std::string pid, name, state, parent;
      if (file >> pid >> name >> state >> parent && parent == self) { ++found.processes; }
    }
    std::size_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages >> pages;
    found.resident = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return found;
  }
};

class IsolatedFaults : public guest_test, public ::testing::WithParamInterface<bool> {
 protected:
  static runtime_options options(bool has_spare) {
    runtime_options made{
        .devices = device_spec(2), .workers = 2, .restart = {.intensity = 1'000'000}};
    made.settings.all.isolation = isolation::process;
    if (has_spare) { made.settings.all.spare = spare::warm; }
    return made;
  }
  static int faults() {
    char const* const given = std::getenv("FLOTILLA_TEST_FAULTS");
    return given == nullptr ? 2 : std::atoi(given);
  }
  /// The time between two faults. A spare starts after a fault, which takes 130 ms on a GPU.
  static std::chrono::milliseconds between() {
    return std::chrono::milliseconds{on_gpus() ? 300 : scaled(100, 20)};
  }
  /// Returns when the owner first sees that the device is lost.
  static clock::time_point time_of_loss(driver::device_recovery const& recovery, int ordinal,
                                        std::atomic<bool> const& over) {
    while (!recovery.is_lost(ordinal) && !over) {
      std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    return clock::now();
  }
};
INSTANTIATE_TEST_SUITE_P(spares, IsolatedFaults, ::testing::Values(false, true),
                         [](auto const& given) { return given.param ? "warm" : "none"; });

// stress: the other device loses nothing, and the faulted one comes back with its memory
TEST_P(IsolatedFaults, DisturbNobodyElse) {
  FLOTILLA_NEED_DEVICES(2);
  runtime rt{options(GetParam())};
  program const loaded = rt.load(test_isolated_faults_kernels);
  driver::table const& api = inside(rt).devices[0].context().api();
  int const ordinal = rt.devices()[faulty.value].driver_ordinal;
  ASSERT_NE(api.recovery, nullptr);
  device_buffer<word> untouched{rt, faulty, 1 << 20}, scratch{rt, faulty, 16};
  host_buffer<word> pattern{rt, untouched.size()}, back{rt, untouched.size()};
  for (word i = 0; i < pattern.size(); ++i) { pattern[i] = i * 2654435761u; }
  rt.submit(untouched.copy_from(pattern)).wait();
  launch const up = one_thread(loaded, "count_up", scratch.data());
  rt.submit(up, {.device = faulty}).wait();

  digesting other{rt, busy, digest_kernel_of(loaded)};
  auto const settle = std::chrono::milliseconds{scaled(1000, 200)};
  std::this_thread::sleep_for(settle);  // the spares start
  std::size_t const all_processes = holdings::now().processes;
  // The same loop, with a task that does not fault.
  other.rate();
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(between());
    rt.submit(up, {.device = faulty}).wait();
  }
  double const quiet = other.rate();
  std::optional<holdings> before;
  for (fault_kind const& kind : kinds) {
    if (!kind.on_cpu_devices && rt.devices()[0].kind == device_kind::cpu) { continue; }
    std::vector<double> away;
    other.rate();
    for (int i = 0; i < faults(); ++i) {
      // The successor of the last spare has started, and has made all objects.
      EXPECT_TRUE(eventually([&] { return holdings::now().processes >= all_processes; }));
      std::this_thread::sleep_for(between());
      std::atomic<bool> over{false};
      clock::time_point lost{};
      std::thread watch{[&] { lost = time_of_loss(*api.recovery, ordinal, over); }};
      ticket const guilty = rt.submit(kind.make(loaded, scratch.data() + 4), {.device = faulty});
      try {
        guilty.wait();
        ADD_FAILURE() << kind.kernel << " has not failed";
      } catch (device_fault const& why) {
        EXPECT_TRUE(why.may_have_run());
        EXPECT_THAT(why.suspects(), HasSubstr(kind.kernel));
      }
      rt.submit(up, {.device = faulty}).wait();
      auto const done = clock::now();
      over = true;
      watch.join();
      away.push_back(ms(done - lost));
      if (i % 10 == 0) {
        std::fill(back.begin(), back.end(), 0u);
        rt.submit(untouched.copy_to(back)).wait();
        EXPECT_TRUE(std::equal(back.begin(), back.end(), pattern.begin())) << "memory was lost";
      }
    }
    double const beside = other.rate();
    std::sort(away.begin(), away.end());
    std::printf(
        "%s, %zu times: the next task ends %.2f ms (median; at most %.2f) after the loss is "
        "visible; the other device digests %.1f MB/s, %.1f before\n",
        kind.kernel, away.size(), away[away.size() / 2], away.back(), beside / 1e6, quiet / 1e6);
    if (!before) { before = holdings::now(); }
  }
  // The spare of the last fault is still starting.
  EXPECT_TRUE(eventually([&] {
    holdings const now = holdings::now();
    return now.descriptors <= before->descriptors + 4 && now.processes <= before->processes + 1;
  })) << "descriptors: "
      << holdings::now().descriptors << ", " << before->descriptors
      << " after the first kind; processes: " << holdings::now().processes << ", "
      << before->processes;
  std::printf("resident memory: %zu KiB after the first kind, %zu KiB at the end\n",
              before->resident / 1024, holdings::now().resident / 1024);
  // A sanitizer keeps freed memory for a while.
  if (!sanitized) {
    EXPECT_LE(holdings::now().resident, before->resident + (std::size_t{32} << 20));
  }
}

}  // namespace
}  // namespace flotilla::test
