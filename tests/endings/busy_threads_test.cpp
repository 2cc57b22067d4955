// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The process ends while other threads use a runtime. They have no chance to know that, so they
// must neither end the process with an exception nor change its status.

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/kernels.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

using std::chrono::milliseconds;

constexpr int status = 7;

/// What a thread does again and again.
struct use {
  std::string name;
  std::function<void(runtime&)> run;
};

void replay(runtime& rt) {
  test_program const program{rt};
  recording made{rt};
  static_cast<void>(made.add(program.nothing.with_shape({1}, {1})()));
  made.finish();
  for (int i = 0; i < 20; ++i) { made.replay().wait(); }
}

void use_flow(runtime& rt) {
  flow fl{rt};
  data<int> values{fl, {64}};
  for (int i = 0; i < 20; ++i) {
    fl.submit(uses(write(values)), [](task_context&, view<int>) {}).wait();
  }
}

std::vector<use> uses_of_a_runtime() {
  return {
      {"submit", [](runtime& rt) { rt.submit([](task_context&) {}).wait(); }},
      {"post", [](runtime& rt) { rt.post([](task_context&) {}); }},
      {"host task", [](runtime& rt) { rt.submit(host_task([] {})).wait(); }},
      {"continuation",
       [](runtime& rt) {
         rt.submit([](task_context&) {}).then([](std::exception_ptr) {});
         rt.wait_idle();
       }},
      {"wait_idle",
       [](runtime& rt) {
         rt.post([](task_context&) {});
         rt.wait_idle();
       }},
      {"device buffer",
       [](runtime& rt) {
         device_buffer<int>{rt, device_ordinal{0}, 64};
       }},
      {"host buffer",
       [](runtime& rt) {
         host_buffer<int>{rt, 64};
       }},
      {"copy",
       [](runtime& rt) {
         std::vector<int> host(64);
         device_buffer<int> buffer{rt, device_ordinal{0}, 64};
         rt.submit(buffer.copy_to(std::span{host})).wait();
       }},
      {"program", [](runtime& rt) { test_program{rt}; }},
      {"kernel",
       [](runtime& rt) {
         test_program const program{rt};
         for (int i = 0; i < 20; ++i) { rt.submit(program.nothing.with_shape({1}, {1})()).wait(); }
       }},
      {"replay", replay},
      {"flow", use_flow},
      {"memory", [](runtime& rt) { static_cast<void>(rt.memory(device_ordinal{0})); }},
      {"flush_printf", [](runtime& rt) { rt.flush_printf(); }},
      {"pump", [](runtime& rt) { rt.pump(); }},
  };
}

void repeat_for_ever(runtime& rt, use const& what) {
  while (true) { what.run(rt); }
}

enum class owners { function_static, never_destroyed, global_pointer, global_object };
std::unique_ptr<runtime> global;
std::optional<runtime> object;  // its memory stays until the process ends

runtime& runtime_of(owners owner, int workers) {
  runtime_options const options{.devices = device_spec(1), .workers = workers};
  switch (owner) {
    case owners::function_static: {
      static runtime made{options};
      return made;
    }
    case owners::never_destroyed: return *new runtime{options};
    case owners::global_pointer: global = std::make_unique<runtime>(options); return *global;
    case owners::global_object: return object.emplace(options);
  }
  std::abort();
}

/// Ends the process in `ms` milliseconds on this thread, while another thread uses the runtime.
[[noreturn]] void end_while_a_thread_works(owners owner, int workers, use const& what, int ms) {
  ::alarm(50);
  runtime& rt = runtime_of(owner, workers);
  std::thread{[&] { repeat_for_ever(rt, what); }}.detach();
  std::this_thread::sleep_for(milliseconds{ms});
  std::exit(status);
}

/// Ends the process on another thread, while the main thread uses the runtime.
[[noreturn]] void end_on_another_thread(owners owner, int workers, use const& what, int ms) {
  ::alarm(50);
  runtime& rt = runtime_of(owner, workers);
  std::thread{[ms] {
    std::this_thread::sleep_for(milliseconds{ms});
    std::exit(status);
  }}.detach();
  repeat_for_ever(rt, what);
  std::abort();
}

[[noreturn]] void quick_exit_while_a_thread_works(owners owner, int workers, use const& what,
                                                  int ms) {
  ::alarm(50);
  runtime& rt = runtime_of(owner, workers);
  std::thread{[&] { repeat_for_ever(rt, what); }}.detach();
  std::this_thread::sleep_for(milliseconds{ms});
  std::quick_exit(status);
}

class BusyThreads : public guest_test {
 protected:
  using ending = void (*)(owners, int, use const&, int);
  void SetUp() override {
    guest_test::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (sanitized) { GTEST_SKIP() << "std::exit destroys static objects while other threads run"; }
  }
  static void expect_quiet(ending end, owners owner) {
    int ms = 5;  // differs, so that the process ends in different steps of the work
    for (use const& each : uses_of_a_runtime()) {
      for (int const workers : {0, 1}) {
        SCOPED_TRACE(each.name + ", " + std::to_string(workers) + " workers");
        EXPECT_EXIT(end(owner, workers, each, ms), ::testing::ExitedWithCode(status),
                    ::testing::Not(::testing::HasSubstr("terminate")));
        ms = 5 + (ms * 7) % 40;
      }
    }
  }
};

// regression: a thread that submitted while `main` returned ended the process with SIGABRT
TEST_F(BusyThreads, AStaticRuntimeMayEndBeforeThem) {
  expect_quiet(&end_while_a_thread_works, owners::function_static);
}

// requirement: the same if the runtime is never destroyed, and only the driver shuts down
TEST_F(BusyThreads, TheDriverMayEndBeforeThem) {
  expect_quiet(&end_while_a_thread_works, owners::never_destroyed);
}

// requirement: the same if the runtime is destroyed after the driver has shut down. Not with a
// pointer, which frees the memory of the runtime: threads that use it then are a mistake
TEST_F(BusyThreads, AGlobalRuntimeMayEndBeforeThem) {
  expect_quiet(&end_while_a_thread_works, owners::global_object);
}

std::atomic<unsigned> running_callables{0};

/// What a callable captures. The last copy must not be destroyed while a callable runs.
[[nodiscard]] std::shared_ptr<int> make_capture() {
  return {new int{0}, [](int* memory) {
            if (running_callables != 0) { std::_Exit(status + 1); }
            delete memory;
          }};
}

struct where_callables_run {
  char const* name;
  unsigned devices;
  int workers;
  bool continues = false;  // a continuation waits for each callable
};

void PrintTo(where_callables_run const& where, std::ostream* out) { *out << where.name; }

class BusyCallables : public BusyThreads,
                      public ::testing::WithParamInterface<where_callables_run> {};

/// Ends the process while a callable of each device runs. Then the driver shuts down first.
[[noreturn]] void end_during_callables(where_callables_run const& where) {
  ::alarm(50);
  runtime& rt = object.emplace(
      runtime_options{.devices = device_spec(where.devices), .workers = where.workers});
  std::thread{[&] {
    for (unsigned i = 0; i < where.devices; ++i) {
      auto function = [held = make_capture()](task_context&) {
        ++running_callables;
        while (true) { std::this_thread::sleep_for(milliseconds{1}); }
      };
      task_options const where_to{.device = device_ordinal{i}};
      if (where.continues) {
        rt.submit(std::move(function), where_to).then([](std::exception_ptr) {});
      } else {
        rt.post(std::move(function), where_to);
      }
    }
    // With workers, this thread must not run a callable instead of them.
    if (where.workers == 0) { rt.wait_idle(); }
    while (true) { std::this_thread::sleep_for(milliseconds{1}); }
  }}.detach();
  while (running_callables != where.devices) { std::this_thread::yield(); }
  std::exit(status);
}

// regression: the end of the runtime destroyed a callable that another thread was inside
// regression: the end of the process waited for workers whose callables never return
TEST_P(BusyCallables, MayRunWhileTheProcessEnds) {
  EXPECT_EXIT(end_during_callables(GetParam()), ::testing::ExitedWithCode(status), "");
}

INSTANTIATE_TEST_SUITE_P(threads, BusyCallables,
                         ::testing::Values(where_callables_run{"waiting_thread", 1, 0},
                                           where_callables_run{"worker", 1, 1},
                                           where_callables_run{"worker_and_stand_in", 2, 1},
                                           where_callables_run{"continuations", 2, 1, true}),
                         [](auto const& info) { return info.param.name; });

// requirement: another thread may end the process
TEST_F(BusyThreads, AnotherThreadMayEndTheProcess) {
  expect_quiet(&end_on_another_thread, owners::function_static);
}

// requirement: quick_exit runs no destructors
TEST_F(BusyThreads, QuickExitEndsThem) {
  expect_quiet(&quick_exit_while_a_thread_works, owners::function_static);
}

/// Nothing is open when the process ends.
[[noreturn]] void end_idle(owners owner, int workers) {
  runtime& rt = runtime_of(owner, workers);
  test_program const program{rt};
  rt.submit(program.nothing.with_shape({1}, {1})()).wait();
  rt.submit([](task_context&) {}).then([](std::exception_ptr) {});
  rt.wait_idle();
  std::exit(status);
}

[[noreturn]] void end_idle_in_a_handler() {
  static runtime* made = nullptr;
  std::atexit([] { delete made; });
  made = new runtime{{.devices = device_spec(1)}};
  made->submit([](task_context&) {}).wait();
  std::exit(status);
}

[[noreturn]] void end_idle_with_a_runtime_of_the_thread() {
  static thread_local std::unique_ptr<runtime> made;
  made = std::make_unique<runtime>(runtime_options{.devices = device_spec(1)});
  made->submit([](task_context&) {}).wait();
  std::exit(status);
}

// regression: a runtime in a global pointer printed an error for each device
TEST_F(BusyThreads, AnIdleRuntimeEndsSilently) {
  for (owners const owner :
       {owners::function_static, owners::never_destroyed, owners::global_pointer}) {
    for (int const workers : {0, 1}) {
      EXPECT_EXIT(end_idle(owner, workers), ::testing::ExitedWithCode(status),
                  ::testing::IsEmpty());
    }
  }
  EXPECT_EXIT(end_idle_in_a_handler(), ::testing::ExitedWithCode(status), ::testing::IsEmpty());
  EXPECT_EXIT(end_idle_with_a_runtime_of_the_thread(), ::testing::ExitedWithCode(status),
              ::testing::IsEmpty());
}

}  // namespace
}  // namespace flotilla::test
