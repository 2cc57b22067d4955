// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Runtimes of the C interface: options, pumps, and the end of a runtime.

#include <atomic>
#include <string>
#include <vector>

#include <flotilla/version.hpp>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

class CRuntime : public c_api_test {
 protected:
  /// Options that are valid, for tests that change one member.
  [[nodiscard]] static flotilla_runtime_options small() {
    flotilla_runtime_options options = FLOTILLA_RUNTIME_OPTIONS_INIT;
    options.devices = "cpu:1";
    options.workers = GetParam();
    return options;
  }
};
FLOTILLA_C_API(CRuntime);

// requirement: null options mean the defaults
TEST_P(CRuntime, NullOptionsMakeARuntime) {
  flotilla_runtime made{};
  unsigned devices = 0;
  FLOTILLA_C_OK(flotilla_runtime_create(nullptr, &made));
  FLOTILLA_C_OK(flotilla_device_count(made, &devices));
  EXPECT_GE(devices, 1u);
  FLOTILLA_C_OK(flotilla_runtime_destroy(made));
}

// requirement: all options are used
TEST_P(CRuntime, OptionsAreUsed) {
  FLOTILLA_NEED_CPU_DRIVER();
  flotilla_runtime_options options = small();
  options.devices = "cpu:3";
  options.window = 64;
  options.best_effort = 1;
  options.settings = "limits.stack=64KiB,2:schedule=yield";
  flotilla_runtime made{};
  FLOTILLA_C_OK(flotilla_runtime_create(&options, &made));
  unsigned devices = 0;
  FLOTILLA_C_OK(flotilla_device_count(made, &devices));
  EXPECT_EQ(devices, 3u);
  flotilla_setting setting = FLOTILLA_SETTING_INIT;
  FLOTILLA_C_OK(flotilla_get_setting(made, 2, "schedule", &setting));
  EXPECT_STREQ(setting.granted, "yield");
  FLOTILLA_C_OK(flotilla_get_setting(made, 0, "limits.stack", &setting));
  EXPECT_EQ(setting.outcome, FLOTILLA_SETTING_GRANTED);
  FLOTILLA_C_OK(flotilla_runtime_destroy(made));
}

// requirement: invalid options are refused, and the handle names no object
TEST_P(CRuntime, InvalidOptionsAreRefused) {
  auto const refuse = [](flotilla_runtime_options const& options, flotilla_status status,
                         char const* word) {
    flotilla_runtime made{77};
    FLOTILLA_C_FAILS(status, word, flotilla_runtime_create(&options, &made));
    EXPECT_EQ(made.id, 0u);
  };
  flotilla_runtime_options options = small();
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_runtime_create(&options, nullptr));
  options.workers = -5;
  refuse(options, FLOTILLA_INVALID_ARGUMENT, "-5");
  options = small();
  options.window = 1;
  refuse(options, FLOTILLA_INVALID_ARGUMENT, "window");
  options = small();
  options.settings = "shedule=spin";
  refuse(options, FLOTILLA_UNKNOWN_SETTING, "shedule");
  for (std::size_t const size : {std::size_t{0}, sizeof(std::size_t)}) {
    options = small();
    options.size = size;
    refuse(options, FLOTILLA_INVALID_ARGUMENT, "size");
  }
  options = small();
  options.devices = "gpu:0";
  refuse(options, FLOTILLA_UNKNOWN_DEVICE, "gpu:0");
  options.devices = "cuda:99";
  refuse(options, on_gpus() ? FLOTILLA_UNKNOWN_DEVICE : FLOTILLA_NO_DEVICE, "cuda:99");
  options.devices = "cpu:99999";
  flotilla_runtime made{77};
  EXPECT_NE(flotilla_runtime_create(&options, &made), FLOTILLA_SUCCESS);
  EXPECT_THAT(flotilla_last_error(), HasSubstr("cpu:99999"));
  EXPECT_EQ(made.id, 0u);
}

// requirement: a closed runtime refuses new tasks, and runs the submitted ones
TEST_P(CRuntime, CloseRefusesNewTasks) {
  flotilla_buffer const sum = words();
  flotilla_ticket before{}, refused{5};
  FLOTILLA_C_OK(add(sum, 3, nullptr, &before));
  FLOTILLA_C_OK(flotilla_runtime_close(rt));
  FLOTILLA_C_FAILS(FLOTILLA_RUNTIME_CLOSED, "", add(sum, 1, nullptr, &refused));
  EXPECT_EQ(refused.id, 0u);
  FLOTILLA_C_OK(end_of(before));
}

// requirement: a pump says whether a task is open, and runs tasks in single-threaded mode
TEST_P(CRuntime, PumpSaysWhetherATaskIsOpen) {
  int open = 5;
  FLOTILLA_C_OK(flotilla_pump(rt, &open));
  EXPECT_EQ(open, 0);
  {
    c_held held{rt, kernel("hold_until"), 1};
    FLOTILLA_C_OK(flotilla_pump(rt, &open));
    EXPECT_EQ(open, 1);
    held.release();
    EXPECT_TRUE(pumping_until([&] {
      FLOTILLA_C_OK(flotilla_pump(rt, &open));
      return open == 0;
    }));
  }
}

// requirement: wait_idle waits for posted tasks too
TEST_P(CRuntime, WaitIdleWaitsForPostedTasks) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 20; ++i) {
    auto const count = [&](flotilla_task_context const&) {
      ++ran;
      return 0;
    };
    FLOTILLA_C_OK(submit_body(rt, count, nullptr, nullptr));
  }
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  EXPECT_EQ(ran, 20);
}

// requirement: destroy waits for the tasks and the continuations
TEST_P(CRuntime, DestroyWaitsForTasksAndContinuations) {
  flotilla_runtime const made = make_c_runtime(GetParam());
  static std::atomic<int> ran;
  ran = 0;
  flotilla_ticket ticket{};
  auto const count = [](flotilla_task_context const&) {
    ++ran;
    return 0;
  };
  FLOTILLA_C_OK(submit_body(made, count, nullptr, &ticket));
  FLOTILLA_C_OK(flotilla_ticket_then(
      ticket, [](void*, flotilla_status, char const*) { ++ran; }, nullptr));
  FLOTILLA_C_OK(flotilla_runtime_destroy(made));
  EXPECT_EQ(ran, 2);
  FLOTILLA_C_OK(flotilla_ticket_wait(ticket)) << "the ticket outlives its runtime";
  FLOTILLA_C_OK(flotilla_ticket_release(ticket));
}

// requirement: a runtime with buffers is not destroyed, and continues
TEST_P(CRuntime, IsNotDestroyedWhileBuffersExist) {
  flotilla_buffer const on_device = words(1, 4);
  FLOTILLA_C_FAILS(FLOTILLA_STILL_USED, "buffer", flotilla_runtime_destroy(rt));
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(add(on_device, 5, nullptr, &ticket));
  FLOTILLA_C_OK(end_of(ticket));
  EXPECT_EQ(read(on_device), 9u);

  flotilla_runtime const other = make_c_runtime(GetParam());
  flotilla_buffer pinned{};
  FLOTILLA_C_OK(flotilla_host_alloc(other, 100, &pinned));
  FLOTILLA_C_FAILS(FLOTILLA_STILL_USED, "", flotilla_runtime_destroy(other));
  FLOTILLA_C_OK(flotilla_buffer_free(pinned));
  FLOTILLA_C_OK(flotilla_runtime_destroy(other));
}

// requirement: inside a function of a task, the runtime cannot be destroyed or waited for
TEST_P(CRuntime, IsNotDestroyedInsideAFunction) {
  auto const destroy = [&](flotilla_task_context const&) {
    FLOTILLA_C_FAILS(FLOTILLA_WOULD_DEADLOCK, "", flotilla_wait_idle(rt));
    FLOTILLA_C_FAILS(FLOTILLA_WOULD_DEADLOCK, "", flotilla_runtime_destroy(rt));
    return 0;
  };
  FLOTILLA_C_OK(run_body(rt, destroy));
  flotilla_buffer const still = words(0, 6);
  EXPECT_EQ(read(still), 6u);
}

// requirement: the same inside a continuation
TEST_P(CRuntime, IsNotDestroyedInsideAContinuation) {
  struct answers {
    flotilla_runtime rt;
    std::atomic<int> wait{0}, destroy{0};
  } seen{.rt = rt};
  flotilla_ticket ticket{};
  FLOTILLA_C_OK(submit_body(
      rt, [](flotilla_task_context const&) { return 0; }, nullptr, &ticket));
  FLOTILLA_C_OK(flotilla_ticket_then(
      ticket,
      [](void* user, flotilla_status, char const*) {
        auto& to = *static_cast<answers*>(user);
        to.wait = flotilla_wait_idle(to.rt);
        to.destroy = flotilla_runtime_destroy(to.rt);
      },
      &seen));
  FLOTILLA_C_OK(flotilla_wait_idle(rt));
  EXPECT_EQ(seen.wait, FLOTILLA_WOULD_DEADLOCK);
  EXPECT_EQ(seen.destroy, FLOTILLA_WOULD_DEADLOCK);
  FLOTILLA_C_OK(flotilla_ticket_release(ticket));
}

// requirement
TEST_P(CRuntime, HasTextsAndFlushesPrintf) {
  char const* text = nullptr;
  FLOTILLA_C_OK(flotilla_driver_text(rt, &text));
  ASSERT_NE(text, nullptr);
  EXPECT_STRNE(text, "");
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_ARGUMENT, "", flotilla_driver_text(rt, nullptr));
  FLOTILLA_C_OK(flotilla_flush_printf(rt));
  EXPECT_EQ(flotilla_version_text(), std::string{FLOTILLA_VERSION});
}

}  // namespace
}  // namespace flotilla::test
