// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Signals during waits. Handlers set a flag or call _exit, which is all that a handler may do.

#include <poll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

std::atomic<int> signals{0};

/// Calls `handler` for the signal, which interrupts system calls.
void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART
  ASSERT_EQ(::sigaction(signal, &action, nullptr), 0);
}

void count_signal(int) { ++signals; }

runtime_options options(int workers, wait_policy policy) {
  runtime_options made{.devices = device_spec(1), .workers = workers};
  made.settings.all.schedule = policy;
  return made;
}

/// Interrupts the process every 200 us until the end of the block.
class interruptions {
 public:
  interruptions() {
    handle(SIGALRM, &count_signal);
    set({.it_interval = {0, 200}, .it_value = {0, 200}});
  }
  ~interruptions() { set({}); }

 private:
  static void set(itimerval const& time) { ::setitimer(ITIMER_REAL, &time, nullptr); }
};

class Signals : public guest_test {};

// requirement: signals interrupt no wait, whatever its policy
TEST_F(Signals, WaitsGoOnAfterInterruptions) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    for (int const workers : {0, 1}) {
      for (wait_policy const policy :
           {wait_policy::spin, wait_policy::yield, wait_policy::blocking}) {
        runtime rt{options(workers, policy)};
        std::vector<std::uint32_t> source(100'000, 3), result(source.size());
        device_buffer<std::uint32_t> memory{rt, device_ordinal{0}, source.size()};
        interruptions const often;
        std::atomic<int> ran{0};
        for (int i = 0; i < 20; ++i) {
          rt.submit([&](task_context&) { ++ran; }).wait();
          EXPECT_TRUE(rt.submit(memory.copy_from(source)).wait_for(60s));
          rt.submit(memory.copy_to(result)).wait();
          rt.submit([&](task_context&) {}).then([&](std::exception_ptr) { ++ran; });
          rt.wait_idle();
          rt.post([&](task_context&) { ++ran; });
          rt.wait_idle();
          EXPECT_THROW(rt.submit([](task_context&) {}, {.deadline = {}}).wait(), timed_out);
        }
        EXPECT_EQ(ran, 60);
        EXPECT_EQ(result, source);
      }
    }
    EXPECT_GT(signals, 10);
  });
}

// requirement: an event loop whose poll is interrupted gets everything done
TEST_F(Signals, EventLoopsGoOnAfterInterruptions) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    runtime rt{options(0, wait_policy::yield)};
    interruptions const often;
    for (int i = 0; i < 50; ++i) {
      ticket const task = rt.submit([](task_context&) {});
      while (!task.ready()) {
        pollfd event{event_fd(rt), POLLIN, 0};
        int const answer = ::poll(&event, 1, 60'000);
        ASSERT_TRUE(answer == 1 || (answer == -1 && errno == EINTR));
        rt.pump();
      }
    }
  });
}

// requirement: children that end during waits do not disturb them
TEST_F(Signals, ChildrenMayEndDuringWaits) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    handle(SIGCHLD, &count_signal);
    runtime rt{options(1, wait_policy::blocking)};
    for (int i = 0; i < 10; ++i) {
      pid_t const child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) { ::_exit(3); }
      std::atomic<bool> ran{false};
      rt.submit([&](task_context&) { ran = true; }).wait();
      EXPECT_TRUE(ran);
      int status = 0;
      while (::waitpid(child, &status, 0) == -1 && errno == EINTR) {}
      EXPECT_EQ(WEXITSTATUS(status), 3);
    }
    EXPECT_GT(signals, 0);
  });
}

// requirement: a handler may end the process with _exit during a wait
TEST_F(Signals, AHandlerMayEndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int const signal : {SIGTERM, SIGINT}) {
    auto const wait_until_killed = [signal] {
      handle(signal, [](int) { ::_exit(5); });
      runtime rt{options(1, wait_policy::blocking)};
      latch never;
      ticket const task = rt.submit([&](task_context&) { never.wait(); });
      // Detached, because ThreadSanitizer reports a thread that nobody joins.
      std::thread{[signal] {
        std::this_thread::sleep_for(20ms);  // so that the wait has begun
        ::kill(::getpid(), signal);
      }}.detach();
      task.wait();
    };
    EXPECT_EXIT(wait_until_killed(), ::testing::ExitedWithCode(5), "");
  }
}

}  // namespace
}  // namespace flotilla::test
