// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A runtime with event_fd ends while another thread is at the end of ticket::cancel or of a stop
// callback, where it tells the event loop about the end of a task.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

#include <flotilla/flotilla.hpp>
#include <flotilla/task/event_fd.hpp>
#include <flotilla/task/host_task.hpp>

#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/kernels.hpp"

namespace {

using namespace std::chrono_literals;

thread_local bool writes_slowly = false;
std::atomic<bool> is_writing{false};
std::atomic<bool> was_closed{false};  // the descriptor, before the slow thread could write to it

}  // namespace

/// Replaces the function of the C library: a thread that writes slowly is preempted here.
extern "C" int eventfd_write(int descriptor, eventfd_t value) {
  static auto const real =
      reinterpret_cast<int (*)(int, eventfd_t)>(::dlsym(RTLD_NEXT, "eventfd_write"));
  if (writes_slowly) {
    is_writing = true;
    // A fixed time, because the other thread must not have to wait for this one.
    std::this_thread::sleep_for(50ms);
    if (::fcntl(descriptor, F_GETFD) < 0) {
      was_closed = true;
      return 0;
    }
  }
  return real(descriptor, value);
}

namespace flotilla::test {
namespace {

class EventSourceEnd : public guest_test {
 protected:
  /// Ends the runtime while another thread, which has ended a task, is about to write to the
  /// descriptor of the runtime. @param end  Ends the task.
  template <class End>
  static void expect_open_descriptor(End const& end) {
    is_writing = was_closed = false;
    std::stop_source stop;
    std::optional<runtime> rt;
    rt.emplace(runtime_options{.devices = "cpu:1", .workers = 0});
    ASSERT_GE(event_fd(*rt), 0);
    std::optional<test_program> program{*rt};
    std::optional<held_word> head{*rt};
    ticket const held = rt->submit(head->launch_of(*program));
    // A host task, because a launch behind a launch can no longer be cancelled.
    ticket const parked = rt->submit(host_task([] {}), {.after = {held}, .stop = stop.get_token()});
    ASSERT_TRUE(pumping(*rt, [&] { return head->started(); }));
    rt->pump();  // lowers the signal, so that the end of the task raises it
    std::jthread const other{[&] {
      writes_slowly = true;
      end(parked, stop);
    }};
    ASSERT_TRUE(eventually([] { return is_writing.load(); }));
    head->release();
    held.wait();
    head.reset();
    program.reset();
    rt.reset();
    EXPECT_FALSE(was_closed);
  }
};

// regression: the descriptor was closed, and might have belonged to another file already
TEST_F(EventSourceEnd, TheDescriptorIsOpenWhileACancelWrites) {
  expect_open_descriptor([](ticket const& task, std::stop_source&) { EXPECT_TRUE(task.cancel()); });
}

// regression
TEST_F(EventSourceEnd, TheDescriptorIsOpenWhileAStopCallbackWrites) {
  expect_open_descriptor([](ticket const&, std::stop_source& stop) { stop.request_stop(); });
}

}  // namespace
}  // namespace flotilla::test
