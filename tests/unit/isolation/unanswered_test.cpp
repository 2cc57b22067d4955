// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Calls whose worker ends before it can answer.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <utility>

#include "isolation/owner/owner.hpp"
#include "support/eventually.hpp"
#include "unit/isolation/isolated_fixture.hpp"
#include "unit/isolation/worker_pid.hpp"

namespace flotilla::test {
namespace {

class UnansweredCalls : public isolated_fixture {};

/// Returns whether the worker of device 0 has a request that it has not answered.
bool has_open_request() {
  std::uint32_t unused = 0;
  auto const worker = isolated::owner::get().device(0)->worker(unused);
  for (std::size_t i = 0; i < isolated::channels_per_worker; ++i) {
    isolated::channel const& each = worker->at(static_cast<int>(i));
    if (each.requested.load() != each.answered.load()) { return true; }
  }
  return false;
}

/// Stops the process, and returns when none of its threads runs any more.
void stop(pid_t process) {
  ::kill(process, SIGSTOP);
  EXPECT_TRUE(eventually([&] {
    for (auto const& each :
         std::filesystem::directory_iterator{"/proc/" + std::to_string(process) + "/task"}) {
      std::ifstream file{each.path() / "stat"};
      std::string number, name, state;
      if (!(file >> number >> name >> state) || state != "T") { return false; }
    }
    return true;
  }));
}

/// Calls `call` on a thread of its own, and kills the worker of device 0 before it can answer.
void kill_during(driver::table const& api, CUcontext context, pid_t worker,
                 std::function<void()> const& call) {
  std::latch has_channel{1}, is_stopped{1};
  std::thread caller{[&] {
    EXPECT_EQ(api.ctx_push_current(context), CUDA_SUCCESS);
    EXPECT_EQ(api.stream_query(nullptr), CUDA_SUCCESS);
    has_channel.count_down();
    is_stopped.wait();
    call();
  }};
  has_channel.wait();
  stop(worker);
  is_stopped.count_down();
  EXPECT_TRUE(eventually([] { return has_open_request(); }));
  ::kill(worker, SIGKILL);
  caller.join();
}

// regression: a GPU executed work whose worker was killed before it could answer, and the work ran
// again, because it counted as refused
TEST_F(UnansweredCalls, WorkWithoutAnAnswerMayBeInItsStream) {
  CUfunction const add_to = function("add_to");
  CUdeviceptr memory = 0;
  FLOTILLA_OK(api().mem_alloc(&memory, 64));
  void* host = nullptr;
  FLOTILLA_OK(api().mem_host_alloc(&host, 64, CU_MEMHOSTALLOC_PORTABLE));
  CUstream stream = nullptr;
  FLOTILLA_OK(api().stream_create(&stream, CU_STREAM_NON_BLOCKING));
  CUevent event = nullptr;
  FLOTILLA_OK(api().event_create(&event, 0));
  FLOTILLA_OK(add(add_to, memory, 1, stream));
  CUgraph graph = nullptr;
  FLOTILLA_OK(api().graph_create(&graph, 0));
  CUgraphExec exec = nullptr;
  FLOTILLA_OK(api().graph_instantiate_with_flags(&exec, graph, 0));

  std::pair<char const*, std::function<CUresult()>> const calls[] = {
      {"cuLaunchKernel", [&] { return add(add_to, memory, 1, stream); }},
      {"cuGraphLaunch", [&] { return api().graph_launch(exec, stream); }},
      {"cuMemsetD32Async", [&] { return api().memset_d32_async(memory, 1, 4, stream); }},
      {"cuMemcpyHtoDAsync", [&] { return api().memcpy_htod_async(memory, host, 4, stream); }},
      {"cuMemcpyDtoHAsync", [&] { return api().memcpy_dtoh_async(host, memory, 4, stream); }},
      {"cuMemcpyDtoDAsync", [&] { return api().memcpy_dtod_async(memory, memory + 8, 4, stream); }},
      {"cuStreamWriteValue32", [&] { return api().stream_write_value_32(stream, memory, 1, 0); }},
      {"cuEventRecord", [&] { return api().event_record(event, stream); }},
  };
  for (auto const& [name, call] : calls) {
    SCOPED_TRACE(name);
    FLOTILLA_OK(api().stream_synchronize(stream));
    kill_during(api(), context_, worker_pid(), [&] { EXPECT_EQ(call(), CUDA_SUCCESS); });
    EXPECT_EQ(api().stream_query(stream), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(call(), CUDA_ERROR_LAUNCH_FAILED) << "the device is known to be lost";
    ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
  }
  FLOTILLA_OK(api().graph_exec_destroy(exec));
  FLOTILLA_OK(api().graph_destroy(graph));
  FLOTILLA_OK(api().mem_free_host(host));
  FLOTILLA_OK(api().mem_free(memory));
}

// regression: a GPU copied to memory of the caller after the call had failed
TEST_F(UnansweredCalls, ACopyThatFailsUsesNoHostMemoryAnyMore) {
  CUdeviceptr memory = 0;
  FLOTILLA_OK(api().mem_alloc(&memory, 64));
  pid_t const worker = worker_pid();
  kill_during(api(), context_, worker, [&] {
    char pageable[64];
    EXPECT_EQ(api().memcpy_dtoh(pageable, memory, sizeof pageable), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_NE(::kill(worker, 0), 0) << "the process has not ended";
  });
  ASSERT_TRUE(recovery().replace(0)) << recovery().reason(0);
  FLOTILLA_OK(api().mem_free(memory));
}

}  // namespace
}  // namespace flotilla::test
