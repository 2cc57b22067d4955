// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// In a child process created by fork(), a runtime refuses every call, and its destructor returns
// without calling the driver.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"

namespace flotilla::test {
namespace {

/// A runtime with a program, buffers, a ticket and a launch that a child could try to use.
struct runtime_objects {
  explicit runtime_objects(int workers)
      : rt{{.devices = device_spec(1), .workers = workers}},
        kernels{rt},
        memory{rt, device_ordinal{0}, 16},
        pinned{rt, 16},
        ended{rt.submit(kernels.nothing.with_shape({1}, {1})())},
        valid{kernels.nothing.with_shape({1}, {1})()} {
    ended.wait();
  }
  runtime rt;
  test_program kernels;
  device_buffer<std::uint32_t> memory;
  host_buffer<std::uint32_t> pinned;
  ticket ended;
  launch valid;
};

/// Returns the number of the first call that did not throw used_after_fork, or 0 if all calls threw
/// used_after_fork. The first element of `calls` has the number 1.
template <std::size_t count>
int first_not_refused(std::array<std::function<void()>, count> const& calls) {
  for (std::size_t i = 0; i < count; ++i) {
    try {
      calls[i]();
      return static_cast<int>(i) + 1;
    } catch (used_after_fork const&) {}
  }
  return 0;
}

/// Runs in a child. Makes every call that a runtime must refuse there. @return the result of
/// `first_not_refused`.
int first_call_not_refused(runtime_objects& mine) {
  runtime& rt = mine.rt;
  std::array<std::byte, 4> four{};
  return first_not_refused(std::array<std::function<void()>, 22>{
      [&] { (void)rt.submit(mine.valid); },
      [&] { (void)rt.submit(mine.memory.fill(1)); },
      [&] { (void)rt.submit([](task_context&) {}); },
      [&] { (void)rt.try_submit(mine.valid); },
      [&] { (void)rt.try_submit(mine.memory.fill(1)); },
      [&] { (void)rt.try_submit([](task_context&) {}); },
      [&] { (void)rt.pump(); },
      [&] { rt.wait_idle(); },
      [&] { (void)event_fd(rt); },
      [&] { (void)rt.memory(device_ordinal{0}); },
      [&] { (void)rt.counters(device_ordinal{0}); },
      [&] { (void)rt.worker_counters(); },
      [&] { (void)rt.effective_settings(device_ordinal{0}); },
      [&] { (void)rt.load(test_image()); },
      [&] { (void)rt.load("some.file"); },
      [&] { (void)mine.ended.ready(); },
      [&] { mine.ended.wait(); },
      [&] { (void)mine.ended.wait_for(std::chrono::seconds{0}); },
      [&] { (void)mine.kernels.loaded.kernel<>("nothing"); },
      [&] { mine.kernels.loaded.write_global(device_ordinal{0}, "tally", four); },
      [&] { mine.kernels.loaded.read_global(device_ordinal{0}, "tally", four); },
      [&] {
        device_buffer<int> more{rt, device_ordinal{0}, 4};
      },
  });
}

class Fork : public guest_test {};

// requirement
TEST_F(Fork, ChildIsRefusedEverythingAndItsDestructorReturns) {
  FLOTILLA_NEED_DEVICES(1);
  for (int const workers : {0, 2}) {
    auto mine = std::make_unique<runtime_objects>(workers);
    EXPECT_EQ(forked([&] {
                int const code = first_call_not_refused(*mine);
                mine.reset();  // destroys buffers, tickets and the runtime
                return code;
              }),
              0)
        << "the child's exit status is the number of the first call that was not refused; "
        << workers << " workers";
    // The parent's runtime still works.
    int ran = 0;
    mine->rt.submit([&](task_context&) { ++ran; }).wait();
    mine->rt.submit(mine->valid).wait();
    EXPECT_EQ(ran, 1);
  }
}

// error guess: in the child, the runtime's destructor does not wait for tasks that were open at the
// time of the fork
TEST_F(Fork, ChildOfABusyRuntimeDoesNotWaitForItsTasks) {
  FLOTILLA_NEED_DEVICES(1);
  auto mine = std::make_unique<runtime_objects>(1);
  auto word = std::make_unique<held_word>(mine->rt);
  ticket held = mine->rt.submit(word->launch_of(mine->kernels));
  ticket successor = mine->rt.submit([](task_context&) {}, {.after = {held}});
  EXPECT_TRUE(pumping(mine->rt, [&] { return word->started(); }));
  EXPECT_EQ(forked([&] {
              int const code = first_call_not_refused(*mine);
              held = {};
              successor = {};
              // Keep `word`: its destructor would write to the parent's memory.
              mine.reset();
              return code;
            }),
            0);
  word->release();
  successor.wait();
  held = {};
  successor = {};
  word.reset();
}

// regression: the constructor of a runtime in a child created contexts that no device thread
// served, and the destructor hung
TEST_F(Fork, ChildCannotMakeARuntimeIfItsParentHadOne) {
  FLOTILLA_NEED_DEVICES(1);
  { runtime const before{{.devices = device_spec(1)}}; }
  EXPECT_EQ(forked([] {
              try {
                runtime const mine{{.devices = device_spec(1)}};
                return 1;
              } catch (used_after_fork const& error) {
                return std::string{error.what()}.find("fork before") == std::string::npos ? 2 : 0;
              }
            }),
            0);
}

// regression: a callable called fork(). When the callable returned in the child, the child
// continued as a worker without devices, and hung
TEST_F(Fork, ACallableThatReturnsInAChildEndsTheChild) {
  FLOTILLA_NEED_DEVICES(1);
  for (int const workers : {0, 1}) {
    runtime rt{{.devices = device_spec(1), .workers = workers}};
    int child_status = 0;
    auto const fork_and_return = [&] {
      pid_t const child = ::fork();
      if (child != 0) { ASSERT_EQ(::waitpid(child, &child_status, 0), child); }
    };
    rt.submit([&](task_context&) { fork_and_return(); }).wait();
    EXPECT_EQ(WIFSIGNALED(child_status) ? WTERMSIG(child_status) : 0, SIGABRT);
    child_status = 0;
    rt.submit([](task_context&) {}).then([&](std::exception_ptr) { fork_and_return(); });
    rt.wait_idle();
    EXPECT_EQ(WIFSIGNALED(child_status) ? WTERMSIG(child_status) : 0, SIGABRT);
  }
}

// requirement: the message of the error names fork()
TEST_F(Fork, ErrorInTheChildNamesFork) {
  FLOTILLA_NEED_DEVICES(1);
  runtime_objects mine{0};
  EXPECT_EQ(forked([&] {
              try {
                mine.rt.pump();
                return 1;
              } catch (used_after_fork const& error) {
                return std::string{error.what()}.find("fork") == std::string::npos ? 2 : 0;
              }
            }),
            0);
}

}  // namespace
}  // namespace flotilla::test
