// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Worker processes that hang, or that find no memory for a while, must not keep a device from its
// next worker.
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "isolation/owner/owner.hpp"
#include "support/child.hpp"
#include "support/eventually.hpp"
#include "unit/isolation/isolated_fixture.hpp"

namespace flotilla::test {
namespace {

using namespace std::chrono_literals;

/// A script that starts the worker program, unless a file says that it must not work.
class script {
 public:
  script() {
    char folder[] = "/tmp/flotilla_script_XXXXXX";
    folder_ = ::mkdtemp(folder);
    std::ofstream{program()} << "#!/bin/sh\n"
                             << "if [ -e " << folder_ / "hangs"
                             << " ]; then exec sleep 300; fi\n"
                             << "if [ -e " << folder_ / "no_memory"
                             << " ]; then\n"
                             << "  export FLOTILLA_CPU_INJECT=fail=cuCtxCreate@1:"
                             << "CUDA_ERROR_OUT_OF_MEMORY\nfi\n"
                             << "exec " << isolated::worker_program("") << "\n";
    ::chmod(program().c_str(), 0700);
  }
  ~script() { std::filesystem::remove_all(folder_); }
  script(script const&) = delete;
  script& operator=(script const&) = delete;

  [[nodiscard]] std::string program() const { return folder_ / "worker"; }
  void begin(char const* harm) const { std::ofstream{folder_ / harm} << "now"; }
  void end(char const* harm) const { std::filesystem::remove(folder_ / harm); }

 private:
  std::filesystem::path folder_;
};

std::shared_ptr<driver::table const> isolate(script const& with, std::vector<int> const& devices) {
  driver::ensure_cpu_devices(2);
  std::vector<isolated::isolated_choice> choices;
  for (int const each : devices) { choices.push_back({each, true}); }
  return isolated::isolate(driver::cpu_driver().api, choices, with.program()).forwarding;
}

isolated::isolated_device& device_at(int ordinal) {
  return *isolated::owner::get().device(ordinal);
}

pid_t pid_of(int ordinal) {
  std::uint32_t unused = 0;
  return device_at(ordinal).worker(unused)->pid();
}

/// The child processes of this process, except those that are known.
std::vector<pid_t> children(std::vector<pid_t> const& known) {
  std::vector<pid_t> found;
  for (auto const& each : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::ifstream list{each.path() / "children"};
    for (pid_t child = 0; list >> child;) {
      if (std::find(known.begin(), known.end(), child) == known.end()) { found.push_back(child); }
    }
  }
  return found;
}

class HangingProcesses : public ::testing::Test {
 protected:
  void SetUp() override { FLOTILLA_NEED_CPU_DRIVER(); }
};

// regression: a spare hung while it started, and the device never got another worker
TEST_F(HangingProcesses, ASpareThatHangsAtItsStartIsEnded) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    script const program;
    auto const api = isolate(program, {0});
    CUcontext context = nullptr;
    ASSERT_EQ(api->ctx_create(&context, 0, 0), CUDA_SUCCESS);
    ASSERT_TRUE(eventually([] { return device_at(0).has_spare(); }));
    program.begin("hangs");
    std::vector<pid_t> const first = children({pid_of(0)});
    for (pid_t const each : first) { ::kill(each, SIGKILL); }
    std::vector<pid_t> known{first};
    known.push_back(pid_of(0));
    ASSERT_TRUE(eventually([&] { return !children(known).empty(); }));
    std::this_thread::sleep_for(100ms);  // the new spare must have seen the file
    program.end("hangs");
    ::kill(pid_of(0), SIGKILL);
    ASSERT_TRUE(eventually([&] { return api->recovery->is_lost(0); }));
    EXPECT_TRUE(api->recovery->replace(0)) << api->recovery->reason(0);
    EXPECT_EQ(api->ctx_synchronize(), CUDA_SUCCESS);
  });
}

// regression: the same for a spare that hung while it was updated. Also, the spare of another
// device was not tended any more
TEST_F(HangingProcesses, ASpareThatHangsInAnUpdateIsEnded) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    script const program;
    auto const api = isolate(program, {0, 1});
    CUcontext context = nullptr, other = nullptr;
    ASSERT_EQ(api->ctx_create(&other, 0, 1), CUDA_SUCCESS);
    ASSERT_TRUE(eventually([] { return device_at(1).has_spare(); }));
    std::vector<pid_t> const known = children({});
    ASSERT_EQ(api->ctx_create(&context, 0, 0), CUDA_SUCCESS);
    ASSERT_TRUE(eventually([] { return device_at(0).has_spare(); }));
    for (pid_t const each : children(known)) {
      if (each != pid_of(0)) { ::kill(each, SIGSTOP); }
    }
    CUdeviceptr memory = 0;
    ASSERT_EQ(api->mem_alloc(&memory, 400000), CUDA_SUCCESS);
    ASSERT_TRUE(eventually([] { return !device_at(0).has_spare(); }))
        << "the spare is being updated";
    for (pid_t const each : known) {
      if (each != pid_of(1)) { ::kill(each, SIGKILL); }
    }
    EXPECT_TRUE(eventually([&] {
      std::vector<pid_t> now = children({});
      return std::count_if(now.begin(), now.end(), [&](pid_t each) {
               return std::find(known.begin(), known.end(), each) == known.end();
             }) >= 3;
    })) << "the other device gets another spare";
    ::kill(pid_of(0), SIGKILL);
    ASSERT_TRUE(eventually([&] { return api->recovery->is_lost(0); }));
    EXPECT_TRUE(api->recovery->replace(0)) << api->recovery->reason(0);
    EXPECT_EQ(api->memset_d32(memory, 1, 1), CUDA_SUCCESS);
  });
}

// error guess: the spare hangs, and nobody tends it
TEST_F(HangingProcesses, ASpareThatHangsIsNotTaken) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    script const program;
    auto const api = isolate(program, {0});
    CUcontext context = nullptr;
    ASSERT_EQ(api->ctx_create(&context, 0, 0), CUDA_SUCCESS);
    ASSERT_TRUE(eventually([] { return device_at(0).has_spare(); }));
    std::this_thread::sleep_for(200ms);  // the spare must be up to date
    for (pid_t const each : children({pid_of(0)})) { ::kill(each, SIGSTOP); }
    ::kill(pid_of(0), SIGKILL);
    ASSERT_TRUE(eventually([&] { return api->recovery->is_lost(0); }));
    EXPECT_TRUE(api->recovery->replace(0)) << api->recovery->reason(0);
  });
}

// regression: four attempts without a pause were over before the memory of the old process was back
TEST_F(HangingProcesses, MemoryThatComesBackLateIsEnough) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    script const program;
    auto const api = isolate(program, {0});
    CUcontext context = nullptr;
    ASSERT_EQ(api->ctx_create(&context, 0, 0), CUDA_SUCCESS);
    ASSERT_TRUE(eventually([] { return device_at(0).has_spare(); }));
    program.begin("no_memory");
    for (pid_t const each : children({})) { ::kill(each, SIGKILL); }
    std::thread later{[&] {
      std::this_thread::sleep_for(150ms);  // as a GPU's memory
      program.end("no_memory");
    }};
    ASSERT_TRUE(eventually([&] { return api->recovery->is_lost(0); }));
    EXPECT_TRUE(api->recovery->replace(0)) << api->recovery->reason(0);
    later.join();
    EXPECT_EQ(api->ctx_synchronize(), CUDA_SUCCESS);
  });
}

// requirement: memory that does not come back ends the attempts
TEST_F(HangingProcesses, MemoryThatStaysAwayIsReported) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    script const program;
    auto const api = isolate(program, {0});
    CUcontext context = nullptr;
    ASSERT_EQ(api->ctx_create(&context, 0, 0), CUDA_SUCCESS);
    ASSERT_TRUE(eventually([] { return device_at(0).has_spare(); }));
    program.begin("no_memory");
    for (pid_t const each : children({})) { ::kill(each, SIGKILL); }
    ASSERT_TRUE(eventually([&] { return api->recovery->is_lost(0); }));
    EXPECT_FALSE(api->recovery->replace(0));
    EXPECT_THAT(api->recovery->reason(0), ::testing::HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
    program.end("no_memory");
    EXPECT_TRUE(api->recovery->replace(0)) << api->recovery->reason(0);
  });
}

// regression: a request to a process that hangs had no limit
TEST_F(HangingProcesses, ARequestHasALimit) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    script const program;
    program.begin("hangs");
    static_cast<void>(isolate(program, {}));
    isolated::owner& all = isolated::owner::get();
    auto const worker = all.processes().start(program.program(), all.host().memory());
    isolated::control_message hello{};
    hello.kind = isolated::control_message::kinds::hello;
    isolated::control_answer const answer = worker->ask(hello, -1, 50ms);
    EXPECT_NE(answer.status, CUDA_SUCCESS);
    EXPECT_THAT(answer.text, ::testing::HasSubstr("does not answer"));
    worker->wait_for_end();
    // A thread that waits without a limit returns when somebody gives up the process.
    auto const other = all.processes().start(program.program(), all.host().memory());
    std::thread killer{[&] {
      std::this_thread::sleep_for(50ms);  // the request must be sent
      other->lose(CUDA_ERROR_LAUNCH_TIMEOUT, "it hangs");
    }};
    EXPECT_EQ(other->ask(hello).status, CUDA_ERROR_LAUNCH_TIMEOUT);
    killer.join();
  });
}

}  // namespace
}  // namespace flotilla::test
