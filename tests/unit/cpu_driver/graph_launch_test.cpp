// Executable graphs: launched, rewritten, enabled.
#include <array>

#include "graph_test.hpp"

namespace flotilla::cpu_driver {
namespace {

using GraphLaunchTest = GraphTest;

TEST_F(GraphLaunchTest, NodesRunInTheOrderOfTheirEdges) {
  int* const to = shared<int>();
  // Added last to first, so that the order of adding would be the wrong one.
  CUgraphNode const third = add("store", {}, to, 3);
  CUgraphNode const second = add("store", {}, to, 2);
  CUgraphNode const first = add("increment", {}, to);
  CUgraphNode const from[] = {first, second};
  CUgraphNode const onto[] = {second, third};
  EXPECT_OK(cu::cuGraphAddDependencies_v2(graph_, from, onto, nullptr, 2));
  CUgraphExec const exec = instantiate();
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 3);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, ALaunchIsOrderedInItsStream) {
  int* const to = shared<int>();
  add("increment", {}, to);
  CUgraphExec const exec = instantiate();
  CUstream const where = stream();
  gate closed;
  closed.hold(where);
  EXPECT_OK(launch("store", where, to, 10));
  EXPECT_OK(cu::cuGraphLaunch(exec, where));
  EXPECT_OK(cu::cuGraphLaunch(exec, where));
  int* const seen = shared<int>();
  EXPECT_OK(cu::cuMemcpyAsync(address_of(seen), address_of(to), sizeof(int), where));
  EXPECT_OK(launch("store", where, to, 20));
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(where));
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_EQ(*seen, 12);
  EXPECT_EQ(*to, 20);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, RewritingLeavesLaunchesInFlightAlone) {
  constexpr int launches = 50;
  constexpr int nodes = 8;
  int* const to = shared<int>(launches * nodes);
  std::vector<CUgraphNode> line;
  for (int i = 0; i < nodes; ++i) {
    line.push_back(add("store", line.empty() ? line : std::vector{line.back()}, to, 0));
  }
  CUgraphExec const exec = instantiate();
  CUstream const where = stream();
  gate closed;
  closed.hold(where);
  for (int i = 0; i < launches; ++i) {
    for (int j = 0; j < nodes; ++j) {
      int const which = i * nodes + j;
      ASSERT_OK(rewrite(exec, line[static_cast<std::size_t>(j)], "store", to + which, which + 1));
    }
    ASSERT_OK(cu::cuGraphLaunch(exec, where));
  }
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(where));
  for (int i = 0; i < launches * nodes; ++i) { ASSERT_EQ(to[i], i + 1); }
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, ANodeCanBecomeAnotherKernelWithOtherArguments) {
  int* const to = shared<int>(2);
  CUgraphNode const node = add("nothing", {});
  CUgraphExec const exec = instantiate();
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(rewrite(exec, node, "store", to, 4));
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  std::array<int, 100> all;
  all.fill(2);
  EXPECT_OK(rewrite(exec, node, "sum_large", all, to + 1));  // more than fits into a node
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(rewrite(exec, node, "increment", to));
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(to[0], 5);
  EXPECT_EQ(to[1], 200);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, ANodeCanBecomeALargerGrid) {
  auto* const counter = shared<unsigned>();
  CUgraphNode const node = add("count_threads", {}, counter);
  CUgraphExec const exec = instantiate();
  unsigned* argument = counter;
  void* arguments[] = {&argument};
  auto wanted = parameters(function("count_threads"), arguments);
  wanted.gridDimX = 3;
  wanted.gridDimY = 2;
  wanted.blockDimX = 40;
  EXPECT_OK(cu::cuGraphExecKernelNodeSetParams_v2(exec, node, &wanted));
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*counter, 240u);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

// requirement: who would have nodes updated by kernels is told that there are none here, and the node stays as it was
TEST_F(GraphLaunchTest, NodesHaveNoAttributes) {
  int* const to = shared<int>();
  CUgraphNode const node = add("store", {}, to, 7);
  CUlaunchAttributeValue wanted{};
  wanted.deviceUpdatableKernelNode.deviceUpdatable = 1;
  EXPECT_STATUS(CUDA_ERROR_NOT_SUPPORTED,
                cu::cuGraphKernelNodeSetAttribute(
                    node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &wanted));
  EXPECT_EQ(wanted.deviceUpdatableKernelNode.devNode, nullptr);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphKernelNodeSetAttribute(
                    node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphKernelNodeSetAttribute(
                    nullptr, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &wanted));
  CUgraphExec const exec = instantiate();
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 7);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, WhatIsRefusedLeavesTheOldParameters) {
  int* const to = shared<int>();
  CUgraphNode const node = add("store", {}, to, 7);
  CUgraphExec const exec = instantiate();
  int* out = to;
  int value = 8;
  void* arguments[] = {&out, &value};
  auto wanted = parameters(function("store"), arguments);
  wanted.blockDimX = 1025;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphExecKernelNodeSetParams_v2(exec, node, &wanted));
  wanted.blockDimX = 1;
  wanted.kernelParams = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphExecKernelNodeSetParams_v2(exec, node, &wanted));
  wanted.kernelParams = arguments;
  wanted.func = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphExecKernelNodeSetParams_v2(exec, node, &wanted));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphExecKernelNodeSetParams_v2(exec, node, nullptr));
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 7);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, DisabledNodesDoNothingAndKeepTheirPlace) {
  int* const to = shared<int>();
  CUgraphNode const first = add("store", {}, to, 1);
  CUgraphNode const second = add("store", {first}, to, 2);
  CUgraphNode const third = add("increment", {second}, to);
  CUgraphExec const exec = instantiate();
  unsigned enabled = 7;
  EXPECT_OK(cu::cuGraphNodeGetEnabled(exec, second, &enabled));
  EXPECT_EQ(enabled, 1u);
  EXPECT_OK(cu::cuGraphNodeSetEnabled(exec, second, 0));
  EXPECT_OK(cu::cuGraphNodeGetEnabled(exec, second, &enabled));
  EXPECT_EQ(enabled, 0u);
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 2);
  EXPECT_OK(rewrite(exec, second, "store", to, 5));  // still disabled
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 2);
  EXPECT_OK(cu::cuGraphNodeSetEnabled(exec, second, 1));
  EXPECT_OK(cu::cuGraphNodeSetEnabled(exec, third, 0));
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 5);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, OnlyKernelsCanBeDisabled) {
  auto* const word = shared<std::uint64_t>();
  CUgraphNode const write = add_operations({}, {write_operation(word, 1)});
  CUgraphExec const exec = instantiate();
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphNodeSetEnabled(exec, write, 0));
  unsigned enabled = 0;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphNodeGetEnabled(exec, write, &enabled));
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, ValuesAreWrittenBehindTheKernels) {
  int* const to = shared<int>();
  auto* const word = shared<std::uint64_t>();
  CUgraphNode const kernel = add("store", {}, to, 1);
  std::vector operations{write_operation(word, 1)};
  CUgraphNode const write = add_operations({kernel}, operations);
  CUgraphExec const exec = instantiate();
  CUstream const where = stream();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_OK(rewrite(exec, kernel, "store", to, static_cast<int>(i)));
    operations[0].writeValue.value64 = i << 33;  // all of its 64 bits count
    auto const wanted = batch(operations);
    ASSERT_OK(cu::cuGraphExecBatchMemOpNodeSetParams(exec, write, &wanted));
    ASSERT_OK(cu::cuGraphLaunch(exec, where));
    while (std::atomic_ref(*word).load(std::memory_order_acquire) != i << 33) {
      std::this_thread::yield();
    }
    ASSERT_EQ(*to, static_cast<int>(i));
  }
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, MemoryOperationsKeepTheirNumberAndKinds) {
  auto* const word = shared<std::uint64_t>();
  auto* const narrow = shared<std::uint32_t>();
  std::vector operations{write_operation(word, 1)};
  CUgraphNode const write = add_operations({}, operations);
  CUgraphExec const exec = instantiate();
  auto wanted = batch(operations);
  operations[0].writeValue.address += 2;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphExecBatchMemOpNodeSetParams(exec, write, &wanted));
  operations[0] = wait_operation(narrow, 1);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphExecBatchMemOpNodeSetParams(exec, write, &wanted));
  operations = {write_operation(word, 2), write_operation(word, 3)};
  wanted = batch(operations);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphExecBatchMemOpNodeSetParams(exec, write, &wanted));
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*word, 1u);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, AnExecutableGraphOutlivesWhatItWasMadeOfAndItsOwnHandle) {
  int* const to = shared<int>();
  add("increment", {}, to);
  CUgraphExec const exec = instantiate();
  EXPECT_OK(cu::cuGraphDestroy(graph_));
  graph_ = nullptr;
  CUstream const where = stream();
  gate closed;
  closed.hold(where);
  for (int i = 0; i < 5; ++i) { EXPECT_OK(cu::cuGraphLaunch(exec, where)); }
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphLaunch(exec, where));
  closed.open();
  EXPECT_OK(cu::cuStreamSynchronize(where));
  EXPECT_EQ(*to, 5);
}

TEST_F(GraphLaunchTest, LaunchesOfOneGraphInTwoStreamsDoNotOverlap) {
  int* const to = shared<int>();
  auto* const held = shared<std::uint32_t>();
  CUgraphNode const first = add("store", {}, to, 1);
  CUgraphNode const wait = add_operations({first}, {wait_operation(held, 1)});
  CUgraphNode const last = add("store", {wait}, to, 3);
  CUgraphExec const exec = instantiate();
  CUstream const one = stream();
  CUstream const two = stream();
  EXPECT_OK(cu::cuGraphLaunch(exec, one));
  EXPECT_OK(rewrite(exec, first, "increment", to));
  EXPECT_OK(rewrite(exec, last, "increment", to));
  EXPECT_OK(cu::cuGraphLaunch(exec, two));
  // Whatever else the device does meanwhile, the second launch waits for the first.
  CUstream const three = stream();
  EXPECT_OK(launch("nothing", three));
  EXPECT_OK(cu::cuStreamSynchronize(three));
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(one));
  EXPECT_STATUS(CUDA_ERROR_NOT_READY, cu::cuStreamQuery(two));
  std::atomic_ref(*held).store(1, std::memory_order_release);
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 5);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphLaunchTest, AnExecutableGraphTakesOverAnotherOfItsShapeOrNothing) {
  int* const to = shared<int>(2);
  CUgraphNode const first = add("store", {}, to, 1);
  add("store", {first}, to + 1, 2);
  CUgraphExec const exec = instantiate();
  EXPECT_OK(cu::cuGraphDestroy(graph_));
  ASSERT_OK(cu::cuGraphCreate(&graph_, 0));
  CUgraphNode const other = add("store", {}, to, 3);
  CUgraphExecUpdateResultInfo result{};
  EXPECT_STATUS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
                cu::cuGraphExecUpdate_v2(exec, graph_, &result));
  EXPECT_EQ(result.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  CUgraphNode const second = add("increment", {}, to + 1);  // not behind the first
  EXPECT_STATUS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
                cu::cuGraphExecUpdate_v2(exec, graph_, &result));
  EXPECT_EQ(result.errorNode, second);
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(to[0], 1);  // nothing was taken over
  EXPECT_EQ(to[1], 2);
  EXPECT_OK(cu::cuGraphAddDependencies_v2(graph_, &other, &second, nullptr, 1));
  EXPECT_OK(cu::cuGraphExecUpdate_v2(exec, graph_, &result));
  EXPECT_EQ(result.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(to[0], 3);
  EXPECT_EQ(to[1], 3);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

}  // namespace
}  // namespace flotilla::cpu_driver
