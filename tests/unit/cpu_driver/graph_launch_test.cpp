// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Launches of executable graphs: the order of the nodes, disabled nodes, and writes of values.
#include <atomic>
#include <thread>

#include "graph_test.hpp"

namespace flotilla::cpu_driver {
namespace {

using GraphLaunchTest = GraphTest;

TEST_F(GraphLaunchTest, NodesRunInTheOrderOfTheirEdges) {
  int* const to = shared<int>();
  // The nodes are added in reverse order. A launch in the order of addition would give a wrong
  // result.
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
  EXPECT_OK(rewrite(exec, second, "store", to, 5));  // the rewritten node must stay disabled
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

TEST_F(GraphLaunchTest, ValuesAreWrittenAfterTheKernels) {
  int* const to = shared<int>();
  auto* const word = shared<std::uint64_t>();
  CUgraphNode const kernel = add("store", {}, to, 1);
  std::vector operations{write_operation(word, 1)};
  CUgraphNode const write = add_operations({kernel}, operations);
  CUgraphExec const exec = instantiate();
  CUstream const where = stream();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_OK(rewrite(exec, kernel, "store", to, static_cast<int>(i)));
    operations[0].writeValue.value64 = i << 33;  // more than 32 bits
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

TEST_F(GraphLaunchTest, AnExecutableGraphOutlivesItsDefinitionAndItsHandle) {
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
  // The second launch must wait for the first. Meanwhile the device thread must run other streams.
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

}  // namespace
}  // namespace flotilla::cpu_driver
