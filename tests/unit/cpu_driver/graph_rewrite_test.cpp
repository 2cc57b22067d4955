// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Rewriting the nodes of executable graphs: other kernels, grids and arguments, changes that are
// refused, and cuGraphExecUpdate.
#include <array>

#include "graph_test.hpp"

namespace flotilla::cpu_driver {
namespace {

using GraphRewriteTest = GraphTest;

TEST_F(GraphRewriteTest, RewritingLeavesLaunchesInFlightAlone) {
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

TEST_F(GraphRewriteTest, ANodeCanBecomeAnotherKernelWithOtherArguments) {
  int* const to = shared<int>(2);
  CUgraphNode const node = add("nothing", {});
  CUgraphExec const exec = instantiate();
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(rewrite(exec, node, "store", to, 4));
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  std::array<int, 100> all;
  all.fill(2);
  // The arguments are too large for the memory inside the node.
  EXPECT_OK(rewrite(exec, node, "sum_large", all, to + 1));
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(rewrite(exec, node, "increment", to));
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(to[0], 5);
  EXPECT_EQ(to[1], 200);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphRewriteTest, ANodeCanBecomeALargerGrid) {
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

// requirement: a request to make a node device-updatable returns CUDA_ERROR_NOT_SUPPORTED, and the
// node can still be launched
TEST_F(GraphRewriteTest, NodesHaveNoAttributes) {
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

TEST_F(GraphRewriteTest, ARefusedRewriteKeepsTheOldParameters) {
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

TEST_F(GraphRewriteTest, MemoryOperationsKeepTheirNumberAndKinds) {
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

TEST_F(GraphRewriteTest, AnUpdateFromAGraphOfTheSameShapeIsAllOrNothing) {
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
  // In `exec`, the second node depends on the first. `second` does not depend on `other` yet.
  CUgraphNode const second = add("increment", {}, to + 1);
  EXPECT_STATUS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
                cu::cuGraphExecUpdate_v2(exec, graph_, &result));
  EXPECT_EQ(result.errorNode, second);
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(to[0], 1);  // the two refused updates have changed nothing
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
