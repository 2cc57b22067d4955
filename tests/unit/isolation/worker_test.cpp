// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The life of worker processes: start, end, and what they inherit.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/error/error.hpp>

#include "isolation/forwarding.hpp"
#include "isolation/memory/host_arena.hpp"
#include "isolation/owner/direct_caller.hpp"
#include "isolation/owner/owner.hpp"
#include "isolation/owner/supervisor.hpp"
#include "support/eventually.hpp"
#include "support/thrown.hpp"
#include "unit/isolation/isolated_fixture.hpp"

// The process to which a test counts signals that are sent by its number.
static std::atomic<pid_t> watched_process{0};
static std::atomic<int> signals_by_number{0};

/// Replaces the function of the C library in this program.
extern "C" int kill(pid_t process, int signal) noexcept {
  if (process == watched_process) { ++signals_by_number; }
  return static_cast<int>(::syscall(SYS_kill, process, signal));
}

namespace flotilla::isolated {
namespace {

using ::testing::HasSubstr;

/// The memory of this process: its addresses are fixed, so there is only one.
host_arena& memory() {
  static_cast<void>(isolate(driver::cpu_driver().api, {}, ""));
  return owner::get().host();
}
supervisor& processes() {
  static supervisor& only = *new supervisor;
  return only;
}

std::shared_ptr<worker_process> start() {
  auto made = processes().start(worker_program(""), memory().memory());
  control_message hello{};
  hello.kind = control_message::kinds::hello;
  hello.owner = ::getpid();
  control_answer const answer = made->ask(hello);
  EXPECT_EQ(answer.status, 0) << answer.text;
  return made;
}

CUresult ping(worker_process& worker) {
  request_head const head{operation::ping, 0, 0};
  return direct_caller{worker, worker_process::no_limit}.send(std::as_bytes(std::span{&head, 1}));
}

std::size_t open_descriptors() {
  auto const all = std::filesystem::directory_iterator{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// requirement
TEST(WorkerTest, AnswersAndEndsWithItsObject) {
  auto worker = start();
  for (int i = 0; i < 1000; ++i) { ASSERT_EQ(ping(*worker), CUDA_SUCCESS); }
  pid_t const pid = worker->pid();
  worker->lose(CUDA_ERROR_LAUNCH_FAILED, "the test is over");
  worker->wait_for_end();
  EXPECT_NE(::kill(pid, 0), 0) << "the process is reaped";
}

// regression: SIGKILL was sent to the number of a process that had been reaped, and that another
// process may have by then
TEST(WorkerTest, AReapedWorkerGetsNoSignal) {
  auto worker = start();
  watched_process = worker->pid();
  worker->crash();
  worker->wait_for_end();
  worker->lose(CUDA_ERROR_LAUNCH_FAILED, "once more");
  EXPECT_EQ(signals_by_number, 0);
}

// requirement
TEST(WorkerTest, AKilledWorkerWakesItsCallers) {
  auto worker = start();
  std::thread killer{[&] {
    // Fixed time: the caller below must be in its calls.
    std::this_thread::sleep_for(std::chrono::milliseconds{30});
    ::kill(worker->pid(), SIGKILL);
  }};
  CUresult status = CUDA_SUCCESS;
  while (status == CUDA_SUCCESS) { status = ping(*worker); }
  killer.join();
  EXPECT_EQ(status, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(worker->reason(), HasSubstr("killed by signal 9"));
}

// requirement: a worker that is stopped does not answer, and a kill ends the wait
TEST(WorkerTest, ACallerThatSleepsIsWoken) {
  auto worker = start();
  ASSERT_EQ(ping(*worker), CUDA_SUCCESS);
  ::kill(worker->pid(), SIGSTOP);
  ASSERT_TRUE(test::eventually([&] {
    std::ifstream file{"/proc/" + std::to_string(worker->pid()) + "/stat"};
    std::string pid, name, state;
    return file >> pid >> name >> state && state == "T";
  }));
  std::thread killer{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});  // the caller must sleep
    worker->lose(CUDA_ERROR_LAUNCH_TIMEOUT, "it hangs");
  }};
  EXPECT_EQ(ping(*worker), CUDA_ERROR_LAUNCH_TIMEOUT);
  killer.join();
  worker->wait_for_end();
}

// stress
TEST(WorkerTest, AHundredKillsLeaveNothing) {
  start().reset();  // what is made once
  ASSERT_TRUE(test::eventually([] { return processes().running() == 0; }));
  std::size_t const before = open_descriptors();
  std::vector<pid_t> pids;
  for (int i = 0; i < 100; ++i) {
    auto worker = start();
    pids.push_back(worker->pid());
    if (i % 2 == 0) { static_cast<void>(ping(*worker)); }
    ::kill(worker->pid(), SIGKILL);
    worker->wait_for_end();
  }
  EXPECT_TRUE(test::eventually([] { return processes().running() == 0; }));
  // Other tests of this process may have workers, so ask for these.
  for (pid_t const each : pids) {
    EXPECT_EQ(::waitpid(each, nullptr, WNOHANG), -1) << each << " is still a child";
  }
  EXPECT_TRUE(test::eventually([&] { return open_descriptors() <= before; }))
      << open_descriptors() << " descriptors, before " << before;
}

// security: nothing of this process reaches the worker except what the worker needs
TEST(WorkerTest, InheritsOnlyItsDescriptors) {
  int const secret = ::open("/proc/self/status", O_RDONLY);  // without O_CLOEXEC
  auto worker = start();
  std::multiset<std::string> found;
  std::string const folder = "/proc/" + std::to_string(worker->pid()) + "/fd";
  for (auto const& each : std::filesystem::directory_iterator{folder}) {
    if (std::stoi(each.path().filename()) <= 2) { continue; }
    std::string const link = std::filesystem::read_symlink(each.path());
    found.insert(link.substr(0, link.find_first_of("[(")));
  }
  ::close(secret);
  EXPECT_THAT(found, ::testing::ElementsAre("/memfd:flotilla channels ",
                                            "/memfd:flotilla host memory ", "socket:"));
}

// security
TEST(WorkerTest, LeavesNoFileInSharedFolders) {
  auto const count = [](char const* folder) {
    std::size_t found = 0;
    for (auto const& each : std::filesystem::directory_iterator{folder}) {
      if (each.path().filename().string().find("flotilla") != std::string::npos) { ++found; }
    }
    return found;
  };
  std::size_t const before = count("/dev/shm");
  auto worker = start();
  EXPECT_EQ(count("/dev/shm"), before);
}

// requirement: the program is named, and why it does not work
TEST(WorkerTest, AProgramThatDoesNotExistIsNamed) {
  EXPECT_THAT(test::thrown<invalid_argument>([] { static_cast<void>(worker_program("/no/such")); }),
              HasSubstr("/no/such"));
  // A program that is no worker answers nothing.
  auto worker = processes().start("/bin/true", memory().memory());
  control_message hello{};
  hello.kind = control_message::kinds::hello;
  EXPECT_NE(worker->ask(hello).status, 0);
}

// regression: service managers and batch systems send signals to all processes of a job. Only the
// owner decides what ends
TEST(WorkerTest, IgnoresSignalsThatAreMeantForItsOwner) {
  auto worker = start();
  std::vector<int> signals{SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,  SIGUSR1,   SIGUSR2, SIGALRM,
                           SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU,  SIGVTALRM, SIGPROF, SIGIO,
                           SIGPWR,  SIGXCPU, SIGXFSZ, SIGRTMIN, SIGRTMAX};
  for (int const each : signals) {
    ASSERT_EQ(::kill(worker->pid(), each), 0);
    ASSERT_EQ(ping(*worker), CUDA_SUCCESS) << "after signal " << each;
  }
  ::kill(worker->pid(), SIGKILL);
  worker->wait_for_end();
}

// regression: the same while the process starts
TEST(WorkerTest, IgnoresSignalsWhileItStarts) {
  auto worker = processes().start(worker_program(""), memory().memory());
  for (int const each : {SIGTERM, SIGHUP, SIGUSR1}) { ASSERT_EQ(::kill(worker->pid(), each), 0); }
  control_message hello{};
  hello.kind = control_message::kinds::hello;
  hello.owner = ::getpid();
  control_answer const answer = worker->ask(hello);
  EXPECT_EQ(answer.status, 0) << answer.text;
}

// error guess: the worker program by hand
TEST(WorkerTest, TheProgramRefusesToRunAlone) {
  std::string const command = worker_program("") +
                              " </dev/null >/dev/null 2>&1 3</dev/null "
                              "4</dev/null 5</dev/null";
  int const status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

// requirement: however the owner ends, its workers end
TEST(WorkerTest, EndsWithItsOwner) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer starts no threads in a child of a process with threads";
#endif
  static_cast<void>(memory());
  for (int const how : {SIGKILL, SIGABRT, 0}) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t const child = ::fork();
    if (child == 0) {
      // The threads of the parent do not exist here, so this process needs a supervisor of its own.
      supervisor own;
      auto worker = own.start(worker_program(""), owner::get().host().memory());
      control_message hello{};
      hello.kind = control_message::kinds::hello;
      hello.owner = ::getpid();
      pid_t pid = worker->ask(hello).status == 0 ? worker->pid() : -1;
      static_cast<void>(::write(ends[1], &pid, sizeof pid) == sizeof pid);
      if (how == 0) { ::_exit(0); }
      ::signal(how, SIG_DFL);
      ::raise(how);
      ::_exit(1);
    }
    ::close(ends[1]);
    pid_t pid = -1;
    ASSERT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    ::close(ends[0]);
    ASSERT_GT(pid, 0);
    ::waitpid(child, nullptr, 0);
    // The worker is no child of this process, so somebody else reaps it, perhaps later.
    EXPECT_TRUE(test::eventually([&] {
      std::ifstream about{"/proc/" + std::to_string(pid) + "/stat"};
      std::string text;
      std::getline(about, text);
      return text.empty() || text.find(") Z ") != std::string::npos;
    })) << "signal "
        << how;
  }
}

}  // namespace
}  // namespace flotilla::isolated
