// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Two devices of one runtime. A settings file gives each device different settings.
#include "contexts_test.hpp"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <test_contexts_kernels.hpp>

#include "support/child.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

constexpr device_ordinal small{0}, large{1};

/// Selects two_devices.toml, which has small limits for device 0 and large limits for device 1.
/// This function sets an environment variable, so call it only in a child process.
void configure() {
  char const* const carried = std::getenv("FLOTILLA_TEST_CONFIG");  // set by scripts/gpu_record
  ASSERT_EQ(setenv("FLOTILLA_CONFIG", carried != nullptr ? carried : FLOTILLA_TEST_CONFIG, 1), 0);
}

class TwoDevices : public contexts_test {
 protected:
  void SetUp() override {
    FLOTILLA_NEED_DEVICES(2);
    contexts_test::SetUp();
  }
};

// C2.65 C4.62: each device gets its own settings from the file, and `effective_settings` returns
// these settings
TEST_F(TwoDevices, AreGrantedWhatTheFileSaysOfEach) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    configure();
    runtime const rt{{.devices = device_spec(2)}};
    device_settings const one = rt.effective_settings(small), other = rt.effective_settings(large);
    EXPECT_EQ(one.malloc_heap_bytes, 16u << 20);
    EXPECT_EQ(other.malloc_heap_bytes, 128u << 20);
    EXPECT_EQ(one.printf_fifo_bytes, 512u << 10);
    EXPECT_EQ(other.printf_fifo_bytes, 32u << 20);
    EXPECT_EQ(one.stack_bytes, 1u << 10);
    EXPECT_EQ(other.stack_bytes, 128u << 10);
    EXPECT_EQ(one.schedule, wait_policy::yield);
    EXPECT_EQ(other.schedule, wait_policy::blocking);
    EXPECT_EQ(one.cache, cache_preference::shared);
    EXPECT_EQ(other.cache, cache_preference::l1);
    EXPECT_EQ(one.bank_size, bank_size::four);
    EXPECT_EQ(other.bank_size, bank_size::four);
  });
}

// C2.27 C4.19: in the tasks of each device, the context of the device has the flags and the cache
// preference that the file sets for this device
TEST_F(TwoDevices, HaveContextsWithTheFlagsAndPreferencesOfEach) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    configure();
    runtime rt{{.devices = device_spec(2), .workers = 2}};
    for (device_ordinal const each : {small, large}) {
      unsigned flags = 0;
      CUfunc_cache cache{};
      rt.submit(
            [&](task_context&) {
              EXPECT_OK(cu().ctx_get_flags(&flags));
              EXPECT_OK(cu().ctx_get_cache_config(&cache));
            },
            {.device = each})
          .wait();
      bool const first = each == small;
      EXPECT_EQ(flags & CU_CTX_SCHED_MASK,
                unsigned{first ? CU_CTX_SCHED_YIELD : CU_CTX_SCHED_BLOCKING_SYNC});
      EXPECT_EQ(cache, first ? CU_FUNC_CACHE_PREFER_SHARED : CU_FUNC_CACHE_PREFER_L1);
    }
  });
}

// C2.7 C2.8: a thread waits for each device as the file says. A thread that waits for device 0
// yields and naps, so it often gives its processor away. A thread that waits for device 1 sleeps
// until the kernel ends
TEST_F(TwoDevices, AreWaitedForAsTheFileSaysOfEach) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    configure();
    runtime rt{{.devices = device_spec(2), .workers = 1}};
    auto const doze =
        rt.load(test_contexts_kernels).kernel<unsigned long long>("doze").with_shape({1}, {1});
    long switches[2] = {};
    for (device_ordinal const each : {small, large}) {
      rt.submit(doze(1'000'000ull), {.device = each}).wait();
      rusage before{}, after{};
      getrusage(RUSAGE_THREAD, &before);
      rt.submit(doze(500'000'000ull), {.device = each}).wait();
      getrusage(RUSAGE_THREAD, &after);
      switches[each.value] = after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw;
    }
    std::fprintf(stderr, "a wait of 500 ms: %ld switches with yield, %ld with blocking\n",
                 switches[0], switches[1]);
    // On a busy machine each yield takes milliseconds, so there are few.
    EXPECT_GT(switches[0], 4 * switches[1] + 10);
  });
}

// C2.68: each device has its own heap size. A 64 MiB block fits only into the heap of device 1
TEST_F(TwoDevices, HaveHeapsOfTheirOwn) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    configure();
    runtime rt{{.devices = device_spec(2), .workers = 2}};
    auto const try_heap =
        rt.load(test_contexts_kernels).kernel<unsigned long long, int*>("try_heap");
    int got[2] = {7, 7};
    std::vector<ticket> open;
    for (device_ordinal const each : {small, large}) {
      device_buffer<int> answer{rt, each, 1};
      ticket const tried = rt.submit(try_heap.with_shape({1}, {1})(64ull << 20, answer));
      open.push_back(rt.submit(answer.copy_to(std::span{got + each.value, 1}), {.after = {tried}}));
    }
    for (ticket const& each : open) { each.wait(); }
    EXPECT_EQ(got[0], 0);
    EXPECT_EQ(got[1], 1);
  });
}

// C4.58: each device has its own printf buffer. Both devices print the same number of lines, but
// only the device with the smaller buffer loses lines
TEST_F(TwoDevices, HavePrintBuffersOfTheirOwn) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    configure();
    constexpr unsigned lines = 30'000;
    char path[] = "/tmp/flotilla-printf-XXXXXX";
    int const file = mkstemp(path);
    ASSERT_GE(file, 0);
    std::fflush(stdout);
    // The standard output need not be restored, because this child process prints nothing else.
    ASSERT_GE(dup2(file, STDOUT_FILENO), 0);
    {
      runtime rt{{.devices = device_spec(2), .workers = 2}};
      auto const print_lines =
          rt.load(test_contexts_kernels).kernel<unsigned, unsigned>("print_lines");
      for (device_ordinal const each : {small, large}) {
        (void)rt.submit(print_lines.with_shape({64}, {64})(each.value, lines), {.device = each});
      }
      rt.wait_idle();
      // The driver writes printf output when the context is synchronized.
      for (device_ordinal const each : {small, large}) {
        rt.submit([](task_context&) { EXPECT_OK(cu().ctx_synchronize()); }, {.device = each})
            .wait();
      }
    }
    std::fflush(stdout);
    unsigned seen[2] = {};
    std::ifstream read{path};
    for (std::string line; std::getline(read, line);) {
      seen[0] += line.starts_with("line of 0: ") ? 1u : 0u;
      seen[1] += line.starts_with("line of 1: ") ? 1u : 0u;
    }
    EXPECT_EQ(seen[1], lines);
    EXPECT_GT(seen[0], 0u);
    EXPECT_LT(seen[0], lines);
    std::remove(path);
  });
}

// C2.66: deep recursion works on the device with the larger stack limit
TEST_F(TwoDevices, TheLargerStackHasRoomForDeepRecursion) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    configure();
    runtime rt{{.devices = device_spec(2), .workers = 1}};
    auto const recurse = rt.load(test_contexts_kernels).kernel<unsigned, unsigned*>("recurse");
    device_buffer<unsigned> out{rt, large, 1};
    unsigned sum = 0;
    ticket const ran = rt.submit(recurse.with_shape({1}, {1})(recursion_depth, out));
    rt.submit(out.copy_to(std::span{&sum, 1}), {.after = {ran}}).wait();
    EXPECT_EQ(sum, recursion_depth * (recursion_depth + 1) / 2 + recursion_depth + 1);
  });
}

// C2.66: deep recursion faults on the device with the smaller stack limit, and the error names the
// device
TEST_F(TwoDevices, TheSmallerStackFaultsAndTheErrorNamesItsDevice) {
  if (!on_gpus()) { GTEST_SKIP() << "needs a GPU: the stacks of a CPU device have another size"; }
  FLOTILLA_EXPECT_IN_CHILD([] {
    configure();
    runtime rt{{.devices = device_spec(2), .workers = 1}};
    auto const recurse = rt.load(test_contexts_kernels).kernel<unsigned, unsigned*>("recurse");
    device_buffer<unsigned> out{rt, small, 1};
    ticket const ran =
        rt.submit(recurse.with_shape({1}, {1})(recursion_depth, out), {.label = "too deep"});
    EXPECT_THAT(thrown<poisoned>([&] { ran.wait(); }),
                AllOf(HasSubstr("too deep"), HasSubstr("device 0")));
  });
}

}  // namespace
}  // namespace flotilla::test
