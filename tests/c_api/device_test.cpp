// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Devices of the C interface: properties, memory, settings and counters.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

class CDevice : public c_api_test {};
FLOTILLA_C_API(CDevice);

// requirement
TEST_P(CDevice, HasProperties) {
  unsigned count = 0;
  FLOTILLA_C_OK(flotilla_device_count(rt, &count));
  ASSERT_EQ(count, 2u);
  std::string uuids[2];
  for (unsigned device = 0; device < count; ++device) {
    flotilla_device_info info = FLOTILLA_DEVICE_INFO_INIT;
    FLOTILLA_C_OK(flotilla_get_device(rt, device, &info));
    EXPECT_EQ(info.size, sizeof info);
    EXPECT_EQ(info.kind, on_gpus() ? FLOTILLA_GPU : FLOTILLA_CPU);
    EXPECT_EQ(info.driver_ordinal, static_cast<int>(device));
    EXPECT_STRNE(info.name, "");
    EXPECT_STRNE(info.pci_id, "");
    EXPECT_GE(info.numa_node, -1);
    EXPECT_GT(info.multiprocessors, 0);
    EXPECT_GT(info.memory_bytes, 0u);
    uuids[device] = info.uuid;
  }
  EXPECT_THAT(uuids[0], StartsWith(on_gpus() ? "GPU-" : "CPU-"));
  EXPECT_NE(uuids[0], uuids[1]);
}

// requirement
TEST_P(CDevice, ReportsItsMemory) {
  flotilla_device_info info = FLOTILLA_DEVICE_INFO_INIT;
  std::size_t free_bytes = 0, total_bytes = 0;
  FLOTILLA_C_OK(flotilla_get_device(rt, 1, &info));
  FLOTILLA_C_OK(flotilla_get_memory(rt, 1, &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes, info.memory_bytes);
  EXPECT_GT(free_bytes, 0u);
  EXPECT_LE(free_bytes, total_bytes);
  FLOTILLA_C_OK(flotilla_get_memory(rt, 1, nullptr, &total_bytes));
  FLOTILLA_C_OK(flotilla_get_memory(rt, 1, &free_bytes, nullptr));
  FLOTILLA_C_OK(flotilla_get_memory(rt, 1, nullptr, nullptr));
}

// requirement: a device whose kernel does not end is stuck after the time of the options, if they
// have one
TEST_P(CDevice, ReportsItsHealth) {
  FLOTILLA_NEED_CPU_DRIVER();
  flotilla_health health = FLOTILLA_HEALTH_FAULTED;
  FLOTILLA_C_OK(flotilla_get_health(rt, 1, &health));
  EXPECT_EQ(health, FLOTILLA_HEALTH_OK);
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "2", flotilla_get_health(rt, 2, &health));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "health", flotilla_get_health(rt, 0, nullptr));
  for (bool const has_time : {true, false}) {
    flotilla_runtime_options options = FLOTILLA_RUNTIME_OPTIONS_INIT;
    options.devices = "cpu:1";
    options.workers = GetParam();
    options.stuck_after_ns = has_time ? 20'000'000 : 0;
    flotilla_runtime made{};
    FLOTILLA_C_OK(flotilla_runtime_create(&options, &made));
    ::testing::internal::CaptureStderr();  // the report of the stuck device
    {
      c_held const held{made, kernel_of(load(made), "hold_until"), 0};
      auto const end = std::chrono::steady_clock::now() +
                       (has_time ? std::chrono::seconds{test_timeout} : std::chrono::seconds{0});
      auto const least = std::chrono::steady_clock::now() + std::chrono::milliseconds{100};
      do {
        FLOTILLA_C_OK(flotilla_pump(made, nullptr));
        FLOTILLA_C_OK(flotilla_get_health(made, 0, &health));
      } while (health == FLOTILLA_HEALTH_OK &&
               std::chrono::steady_clock::now() < std::max(end, least));
      EXPECT_EQ(health, has_time ? FLOTILLA_HEALTH_STUCK : FLOTILLA_HEALTH_OK);
    }
    static_cast<void>(::testing::internal::GetCapturedStderr());
    FLOTILLA_C_OK(flotilla_runtime_destroy(made));
  }
}

// requirement: a setting has its requested and granted value, and the outcome
TEST_P(CDevice, ReportsItsSettings) {
  FLOTILLA_NEED_CPU_DRIVER();
  flotilla_runtime_options options = FLOTILLA_RUNTIME_OPTIONS_INIT;
  options.devices = "cpu:2";
  options.workers = GetParam();
  options.settings = "1:limits.stack=5001";
  flotilla_runtime made{};
  FLOTILLA_C_OK(flotilla_runtime_create(&options, &made));
  flotilla_setting setting = FLOTILLA_SETTING_INIT;
  FLOTILLA_C_OK(flotilla_get_setting(made, 1, "limits.stack", &setting));
  EXPECT_STREQ(setting.name, "limits.stack");
  EXPECT_STREQ(setting.requested, "5001");
  EXPECT_STREQ(setting.granted, "5008");
  EXPECT_EQ(setting.outcome, FLOTILLA_SETTING_ADJUSTED);
  EXPECT_STRNE(setting.note, "");
  FLOTILLA_C_OK(flotilla_get_setting(made, 0, "limits.stack", &setting));
  EXPECT_STREQ(setting.requested, "");
  EXPECT_EQ(setting.outcome, FLOTILLA_SETTING_BY_DEFAULT);
  FLOTILLA_C_OK(flotilla_runtime_destroy(made));
}

// requirement: counters count ended and failed tasks
TEST_P(CDevice, CountsItsTasks) {
  flotilla_counters before = FLOTILLA_COUNTERS_INIT, now = FLOTILLA_COUNTERS_INIT;
  flotilla_buffer const sum = words(1);
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  FLOTILLA_C_OK(flotilla_get_counters(rt, 1, &before));
  for (int i = 0; i < 10; ++i) { FLOTILLA_C_OK(add(sum, 1, nullptr, nullptr)); }
  flotilla_task_options const there = on_device(1);
  EXPECT_EQ(run_body(
                rt, [](flotilla_task_context const&) { return 7; }, &there),
            FLOTILLA_TASK_FAILED);
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  FLOTILLA_C_OK(flotilla_get_counters(rt, 1, &now));
  EXPECT_EQ(now.tasks - before.tasks, 11u);
  EXPECT_EQ(now.failed - before.failed, 1u);
  EXPECT_EQ(now.callables - before.callables, 1u);
  EXPECT_GE(now.batches, before.batches);
  EXPECT_EQ(now.size, sizeof now);
}

// requirement: unknown devices, unknown settings, null pointers and sizes that are too small
TEST_P(CDevice, RefusesBadInput) {
  flotilla_device_info info = FLOTILLA_DEVICE_INFO_INIT;
  flotilla_setting setting = FLOTILLA_SETTING_INIT;
  flotilla_counters counters = FLOTILLA_COUNTERS_INIT;
  std::size_t bytes = 0;
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "2", flotilla_get_device(rt, 2, &info));
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "2", flotilla_get_memory(rt, 2, &bytes, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "2", flotilla_get_setting(rt, 2, "window", &setting));
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_DEVICE, "2", flotilla_get_counters(rt, 2, &counters));
  FLOTILLA_C_FAILS(FLOTILLA_UNKNOWN_SETTING, "windy",
                   flotilla_get_setting(rt, 0, "windy", &setting));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_device_count(rt, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_get_device(rt, 0, nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_get_setting(rt, 0, nullptr, &setting));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_get_setting(rt, 0, "window", nullptr));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_get_counters(rt, 0, nullptr));
  info.size = setting.size = counters.size = 0;
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "size", flotilla_get_device(rt, 0, &info));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "size",
                   flotilla_get_setting(rt, 0, "window", &setting));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "size", flotilla_get_counters(rt, 0, &counters));
  EXPECT_EQ(info.name, nullptr) << "a refused call writes nothing";
}

}  // namespace
}  // namespace flotilla::test
