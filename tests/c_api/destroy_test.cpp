// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The end of a runtime of the C interface while tasks make objects, or other threads end it, too.

#include <atomic>
#include <cstdint>
#include <thread>

#include "c_api/c_fixture.hpp"

namespace flotilla::test {
namespace {

class CDestroy : public c_api_test {};
FLOTILLA_C_API(CDestroy);

// regression: a task makes an object while `destroy` waits for the task. The runtime was destroyed
// although the object existed
TEST_P(CDestroy, IsNotDestroyedWhileObjectsOfItsTasksExist) {
  using make = flotilla_status (*)(flotilla_runtime, std::uint64_t*);
  using end = flotilla_status (*)(std::uint64_t);
  struct kind {
    char const* name;
    make made;
    end ended;
  };
  for (kind const &each : {
           kind{"buffer",
                [](flotilla_runtime in, std::uint64_t*id) {
                  flotilla_buffer got{};
                  flotilla_status const status = flotilla_device_alloc(in, 0, 64, &got);
                  *id = got.id;
                  return status;
                },
                [](std::uint64_t id) { return flotilla_buffer_free({id}); }},
           kind{"recording",
                [](flotilla_runtime in, std::uint64_t*id) {
                  flotilla_recording got{};
                  flotilla_status const status = flotilla_recording_create(in, &got);
                  *id = got.id;
                  return status;
                },
                [](std::uint64_t id) { return flotilla_recording_destroy({id}); }},
           kind{"flow",
                [](flotilla_runtime in, std::uint64_t*id) {
                  flotilla_flow got{};
                  flotilla_status const status = flotilla_flow_create(in, nullptr, &got);
                  *id = got.id;
                  return status;
                },
                [](std::uint64_t id) { return flotilla_flow_destroy({id}); }},
       }) {
    SCOPED_TRACE(each.name);
    flotilla_runtime const made = make_c_runtime(GetParam());
    std::uint64_t late = 0;
    auto const makes_object = [&](flotilla_task_context const&) {
      FLOTILLA_C_OK(each.made(made, &late));
      return 0;
    };
    FLOTILLA_C_OK(submit_body(made, makes_object, nullptr, nullptr));
    FLOTILLA_C_FAILS(FLOTILLA_STILL_USED, each.name, flotilla_runtime_destroy(made));
    FLOTILLA_C_OK(flotilla_wait_idle(made)) << "the runtime continues";
    FLOTILLA_C_OK(each.ended(late));
    FLOTILLA_C_OK(flotilla_runtime_destroy(made));
  }
}

// regression: two threads destroy one runtime, and both touched it
TEST_P(CDestroy, OfTwoDestroysOneIsRefused) {
  flotilla_runtime const made = make_c_runtime(GetParam());
  latch finish;
  auto const waits = [&](flotilla_task_context const&) {
    finish.wait();
    return 0;
  };
  FLOTILLA_C_OK(submit_body(made, waits, nullptr, nullptr));
  std::atomic<int> destroyed{0}, refused{0};
  auto const destroy = [&] {
    flotilla_status const status = flotilla_runtime_destroy(made);
    ++(status == FLOTILLA_SUCCESS ? destroyed : refused);
    EXPECT_TRUE(status == FLOTILLA_SUCCESS || status == FLOTILLA_INVALID_HANDLE) << status;
  };
  {
    std::jthread const first{destroy}, second{destroy};
    // The task has not ended, so neither call can have succeeded.
    EXPECT_TRUE(eventually([&] { return refused == 1; }));
    finish.open();
  }
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(refused, 1);
}

// requirement: a destroy that is refused lets a later one succeed
TEST_P(CDestroy, CanBeDestroyedAfterARefusal) {
  flotilla_runtime const made = make_c_runtime(GetParam());
  flotilla_buffer pinned{};
  FLOTILLA_C_OK(flotilla_host_alloc(made, 100, &pinned));
  for (int i = 0; i < 3; ++i) {
    FLOTILLA_C_FAILS(FLOTILLA_STILL_USED, "", flotilla_runtime_destroy(made));
  }
  FLOTILLA_C_OK(flotilla_buffer_free(pinned));
  FLOTILLA_C_OK(flotilla_runtime_destroy(made));
  FLOTILLA_C_FAILS(FLOTILLA_INVALID_HANDLE, "", flotilla_runtime_destroy(made));
}

}  // namespace
}  // namespace flotilla::test
