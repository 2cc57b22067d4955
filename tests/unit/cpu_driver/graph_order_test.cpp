// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Graphs together with events, waits for values, contexts, faults, fault injection and threads.
#include <thread>

#include "graph_test.hpp"

namespace flotilla::cpu_driver {
namespace {

using GraphOrderTest = GraphTest;

TEST_F(GraphOrderTest, AWaitingNodeDelaysNeitherOtherChainsNorOtherStreams) {
  int* const to = shared<int>(3);
  auto* const held = shared<std::uint32_t>();
  CUgraphNode const wait = add_operations({}, {wait_operation(held, 1)});
  add("store", {wait}, to, 1);
  add("store", {}, to + 1, 2);  // this node must not wait
  CUgraphExec const exec = instantiate();
  CUstream const where = stream();
  CUstream const other = stream();
  EXPECT_OK(cu::cuGraphLaunch(exec, where));
  EXPECT_OK(launch("store", other, to + 2, 3));
  EXPECT_OK(cu::cuStreamSynchronize(other));
  while (std::atomic_ref(to[1]).load(std::memory_order_acquire) != 2) { std::this_thread::yield(); }
  EXPECT_EQ(to[2], 3);
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(where));
  std::atomic_ref(*held).store(1, std::memory_order_release);
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_EQ(to[0], 1);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphOrderTest, RecordedEventsReleaseWaitingStreams) {
  int* const to = shared<int>(2);
  CUevent const recorded = event();
  CUgraphNode const kernel = add("store", {}, to, 1);
  CUgraphNode record = nullptr;
  EXPECT_OK(cu::cuGraphAddEventRecordNode(&record, graph_, &kernel, 1, recorded));
  CUgraphExec const exec = instantiate();
  CUstream const where = stream();
  CUstream const other = stream();
  for (int i = 1; i < 20; ++i) {
    gate closed;
    closed.hold(where);
    ASSERT_OK(rewrite(exec, kernel, "store", to, i));
    ASSERT_OK(cu::cuGraphLaunch(exec, where));
    EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuEventQuery(recorded));
    ASSERT_OK(cu::cuStreamWaitEvent(other, recorded, 0));
    ASSERT_OK(cu::cuMemcpyAsync(address_of(to + 1), address_of(to), sizeof(int), other));
    closed.open();
    ASSERT_OK(cu::cuStreamSynchronize(other));
    ASSERT_EQ(to[1], i);
  }
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphOrderTest, NodesWaitForEventsAsTheyWereAtTheLaunch) {
  int* const to = shared<int>(2);
  CUevent const awaited = event();
  CUevent const other_event = event();
  CUgraphNode wait = nullptr;
  EXPECT_OK(cu::cuGraphAddEventWaitNode(&wait, graph_, nullptr, 0, other_event));
  CUgraphNode const kernel = add("store", {wait}, to, 1);
  static_cast<void>(kernel);
  CUgraphExec const exec = instantiate();
  // The event was never recorded, so the node does not wait.
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 1);
  EXPECT_OK(cu::cuGraphExecEventWaitNodeSetEvent(exec, wait, awaited));
  CUstream const where = stream();
  CUstream const recording = stream();
  gate closed;
  closed.hold(recording);
  EXPECT_OK(launch("store", recording, to, 5));
  EXPECT_OK(cu::cuEventRecord(awaited, recording));
  EXPECT_OK(rewrite(exec, kernel, "increment", to));
  EXPECT_OK(cu::cuGraphLaunch(exec, where));
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(where));
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_EQ(*to, 6);
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE,
                cu::cuGraphExecEventWaitNodeSetEvent(exec, wait, nullptr));
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphOrderTest, KernelsOfALibraryMeanTheirFunctionInTheNamedContext) {
  int* const to = shared<int>();
  CUlibrary library = nullptr;
  ASSERT_OK(cu::cuLibraryLoadData(&library, test_cpu_driver_kernels.cpu, nullptr, nullptr, 0,
                                  nullptr, nullptr, 0));
  CUkernel store = nullptr;
  CUkernel increment = nullptr;
  ASSERT_OK(cu::cuLibraryGetKernel(&store, library, "store"));
  ASSERT_OK(cu::cuLibraryGetKernel(&increment, library, "increment"));
  int* out = to;
  int value = 3;
  void* arguments[] = {&out, &value};
  auto wanted = parameters(nullptr, arguments);
  wanted.kern = store;
  wanted.ctx = context_;
  CUgraphNode node = nullptr;
  ASSERT_OK(cu::cuGraphAddKernelNode_v2(&node, graph_, nullptr, 0, &wanted));
  CUgraphExec const exec = instantiate();
  CUstream const where = stream();
  ASSERT_OK(cu::cuCtxPopCurrent(nullptr));
  EXPECT_OK(cu::cuGraphLaunch(exec, where));  // no context is current, and none is needed
  wanted.kern = increment;
  EXPECT_OK(cu::cuGraphExecKernelNodeSetParams_v2(exec, node, &wanted));
  EXPECT_OK(cu::cuGraphLaunch(exec, where));
  wanted.ctx = nullptr;  // null means the current context, and there is none
  EXPECT_STATUS(CUDA_ERROR_INVALID_CONTEXT,
                cu::cuGraphExecKernelNodeSetParams_v2(exec, node, &wanted));
  CUcontext const other = floating();
  wanted.ctx = other;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphExecKernelNodeSetParams_v2(exec, node, &wanted));
  EXPECT_OK(cu::cuCtxDestroy(other));
  ASSERT_OK(cu::cuCtxPushCurrent(context_));
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_EQ(*to, 4);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
  EXPECT_OK(cu::cuLibraryUnload(library));
}

TEST_F(GraphOrderTest, ANodeRunsInItsOwnContextWhereverTheGraphIsLaunched) {
  for (CUdevice device : {0, 1}) {
    int* const to = shared<int>();
    CUcontext const other = floating(device);
    ASSERT_OK(cu::cuCtxPushCurrent(other));
    CUmodule theirs = nullptr;
    CUstream there = nullptr;
    ASSERT_OK(cu::cuModuleLoadData(&theirs, test_cpu_driver_kernels.cpu));
    ASSERT_OK(cu::cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(cu::cuCtxPopCurrent(nullptr));
    EXPECT_OK(launch("write_variable", nullptr, 31));
    EXPECT_OK(cu::cuCtxSynchronize());
    CUgraphNode const mine = add("read_variable", {}, to);
    static_cast<void>(mine);
    CUgraphExec const exec = instantiate();
    EXPECT_OK(cu::cuGraphLaunch(exec, there));
    EXPECT_OK(cu::cuStreamSynchronize(there));
    EXPECT_EQ(*to, 31) << device;
    EXPECT_OK(cu::cuGraphExecDestroy(exec));
    EXPECT_OK(cu::cuCtxDestroy(other));
  }
}

TEST_F(GraphOrderTest, AGraphOfAnEndedContextIsRefusedElsewhere) {
  CUcontext const other = floating();
  ASSERT_OK(cu::cuCtxPushCurrent(other));
  CUmodule theirs = nullptr;
  CUfunction nothing = nullptr;
  ASSERT_OK(cu::cuModuleLoadData(&theirs, test_cpu_driver_kernels.cpu));
  ASSERT_OK(cu::cuModuleGetFunction(&nothing, theirs, "nothing"));
  ASSERT_OK(cu::cuCtxPopCurrent(nullptr));
  auto const wanted = parameters(nothing, nullptr);
  CUgraphNode node = nullptr;
  ASSERT_OK(cu::cuGraphAddKernelNode_v2(&node, graph_, nullptr, 0, &wanted));
  CUgraphExec const exec = instantiate();
  CUstream const where = stream();
  EXPECT_OK(cu::cuGraphLaunch(exec, where));
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_OK(cu::cuCtxDestroy(other));
  EXPECT_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu::cuGraphLaunch(exec, where));
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphOrderTest, ATrapInANodePoisonsAndLaterNodesDoNotRun) {
  int* const to = shared<int>();
  CUevent const recorded = event();
  CUfunction const nothing = function("nothing");
  CUgraphNode const first = add("store", {}, to, 1);
  CUgraphNode const bad = add("trap", {first});
  CUgraphNode const never = add("store", {bad}, to, 2);
  CUgraphNode record = nullptr;
  EXPECT_OK(cu::cuGraphAddEventRecordNode(&record, graph_, &never, 1, recorded));
  CUgraphExec const exec = instantiate();
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuEventSynchronize(recorded));
  EXPECT_EQ(*to, 1);
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuGraphLaunch(exec, nullptr));
  auto const wanted = parameters(nothing, nullptr);
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED,
                cu::cuGraphExecKernelNodeSetParams_v2(exec, first, &wanted));
  // The call returns the fault, and nevertheless destroys the graph.
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuGraphExecDestroy(exec));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_FAILED, cu::cuGraphDestroy(std::exchange(graph_, nullptr)));
  EXPECT_OK(cu::cuCtxDestroy(context_));
  EXPECT_TRUE(control().reset_fault_for_tests());
  ASSERT_OK(cu::cuCtxCreate_v2(&context_, 0, 0));  // TearDown destroys it
}

TEST_F(GraphOrderTest, TheNthCallCanBeMadeToFailAndDoesNothing) {
  int* const to = shared<int>();
  CUgraphNode const node = add("store", {}, to, 1);
  CUgraphExec const exec = instantiate();
  inject(
      "fail=cuGraphExecKernelNodeSetParams@2:CUDA_ERROR_OUT_OF_MEMORY,"
      "fail=cuGraphLaunch@2:CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
  EXPECT_OK(rewrite(exec, node, "store", to, 2));
  EXPECT_STATUS(CUDA_ERROR_OUT_OF_MEMORY, rewrite(exec, node, "store", to, 3));
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 2);
  EXPECT_OK(rewrite(exec, node, "increment", to));
  EXPECT_STATUS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 2);
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 3);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphOrderTest, TheNthKernelFaultsAlsoInAGraph) {
  int* const to = shared<int>();
  CUgraphNode line = nullptr;
  for (int i = 0; i < 4; ++i) {
    line = add("increment", line ? std::vector{line} : std::vector<CUgraphNode>{}, to);
  }
  CUgraphExec const exec = instantiate();
  inject("fault=0@3:CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 2);
  EXPECT_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, cu::cuGraphExecDestroy(exec));
  EXPECT_STATUS(CUDA_ERROR_ILLEGAL_ADDRESS, cu::cuGraphDestroy(std::exchange(graph_, nullptr)));
}

void CUDA_CB add_one(void* to) { ++*static_cast<int*>(to); }

TEST_F(GraphOrderTest, HostFunctionsRunInOrder) {
  int count = 0;
  int* const to = shared<int>();
  CUDA_HOST_NODE_PARAMS const wanted{&add_one, &count};
  CUgraphNode call = nullptr;
  EXPECT_OK(cu::cuGraphAddHostNode(&call, graph_, nullptr, 0, &wanted));
  add("increment", {call}, to);
  CUgraphExec const exec = instantiate();
  for (int i = 0; i < 3; ++i) { EXPECT_OK(cu::cuGraphLaunch(exec, nullptr)); }
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(count, 3);
  EXPECT_EQ(*to, 3);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

/// stress: each thread uses two executable graphs in turn. It rewrites one of them while earlier
/// launches are running.
TEST_F(GraphOrderTest, ThreadsRewriteAndLaunchGraphsOfTheirOwn) {
  constexpr int threads = 3;
  constexpr int ring = 2;
  constexpr int nodes = 6;
  constexpr int launches = 400;
  int* const to = shared<int>(threads * launches * nodes);
  auto* const words = shared<std::uint64_t>(threads);
  std::vector<CUgraphNode> line;
  for (int i = 0; i < nodes; ++i) {
    line.push_back(add("store", line.empty() ? line : std::vector{line.back()}, to, 0));
  }
  CUgraphNode const write = add_operations({line.back()}, {write_operation(words, 0)});
  CUfunction const store = function("store");
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      CUgraphExec execs[ring];
      for (auto& each : execs) { each = instantiate(); }
      EXPECT_OK(cu::cuCtxPushCurrent(context_));
      CUstream const where = stream();
      for (int i = 0; i < launches; ++i) {
        CUgraphExec const exec = execs[i % ring];
        for (int j = 0; j < nodes; ++j) {
          int const which = (t * launches + i) * nodes + j;
          int* out = to + which;
          int value = which + 1;
          void* arguments[] = {&out, &value};
          auto const wanted = parameters(store, arguments);
          EXPECT_OK(cu::cuGraphExecKernelNodeSetParams_v2(exec, line[static_cast<std::size_t>(j)],
                                                          &wanted));
        }
        std::vector operations{write_operation(words + t, static_cast<std::uint64_t>(i) + 1)};
        auto const batched = batch(operations);
        EXPECT_OK(cu::cuGraphExecBatchMemOpNodeSetParams(exec, write, &batched));
        EXPECT_OK(cu::cuGraphLaunch(exec, where));
      }
      for (auto& each : execs) { EXPECT_OK(cu::cuGraphExecDestroy(each)); }
      while (std::atomic_ref(words[t]).load(std::memory_order_acquire) != launches) {
        std::this_thread::yield();
      }
      EXPECT_OK(cu::cuCtxPopCurrent(nullptr));
    });
  }
  for (auto& each : running) { each.join(); }
  for (int i = 0; i < threads * launches * nodes; ++i) { ASSERT_EQ(to[i], i + 1); }
}

}  // namespace
}  // namespace flotilla::cpu_driver
