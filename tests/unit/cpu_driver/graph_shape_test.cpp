// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Definitions of graphs: nodes, edges, and changes that are refused.
#include <algorithm>

#include "graph_test.hpp"

namespace flotilla::cpu_driver {
namespace {

class GraphShapeTest : public GraphTest {
 protected:
  CUgraphNode empty(std::vector<CUgraphNode> const& after = {}) {
    CUgraphNode made = nullptr;
    EXPECT_OK(cu::cuGraphAddEmptyNode(&made, graph_, after.data(), after.size()));
    return made;
  }

  static std::size_t edge_count(CUgraph of) {
    std::size_t count = 99;
    EXPECT_OK(cu::cuGraphGetEdges_v2(of, nullptr, nullptr, nullptr, &count));
    return count;
  }
};

TEST_F(GraphShapeTest, NodesAndEdgesCanBeListed) {
  CUgraphNode const first = empty();
  CUgraphNode const second = empty({first});
  CUgraphNode const third = empty({first, second});
  std::size_t count = 0;
  EXPECT_OK(cu::cuGraphGetNodes(graph_, nullptr, &count));
  EXPECT_EQ(count, 3u);
  CUgraphNode found[5] = {first, first, first, first, first};
  count = 5;
  EXPECT_OK(cu::cuGraphGetNodes(graph_, found, &count));
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(found[2], third);
  EXPECT_EQ(found[3], nullptr);
  count = 5;
  EXPECT_OK(cu::cuGraphGetRootNodes(graph_, found, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(found[0], first);
  CUgraphNode from[3];
  CUgraphNode to[3];
  count = 3;
  EXPECT_OK(cu::cuGraphGetEdges_v2(graph_, from, to, nullptr, &count));
  ASSERT_EQ(count, 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(from[i] == first || (from[i] == second && to[i] == third));
  }
  count = 5;
  EXPECT_OK(cu::cuGraphNodeGetDependencies_v2(third, found, nullptr, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(found[0], first);
  EXPECT_EQ(found[1], second);
  count = 1;  // room for one result, but `first` has two dependent nodes
  EXPECT_OK(cu::cuGraphNodeGetDependentNodes_v2(first, found, nullptr, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(found[0], second);
}

TEST_F(GraphShapeTest, DependenciesAreNodesOfTheSameGraphNamedOnce) {
  CUgraph other = nullptr;
  ASSERT_OK(cu::cuGraphCreate(&other, 0));
  CUgraphNode foreign = nullptr;
  EXPECT_OK(cu::cuGraphAddEmptyNode(&foreign, other, nullptr, 0));
  CUgraphNode const own = empty();
  CUgraphNode made = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphAddEmptyNode(&made, graph_, &foreign, 1));
  CUgraphNode const twice[] = {own, own};
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphAddEmptyNode(&made, graph_, twice, 2));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphAddEmptyNode(&made, graph_, nullptr, 1));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphAddDependencies_v2(graph_, &own, &foreign, nullptr, 1));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphAddDependencies_v2(graph_, &own, &own, nullptr, 1));
  std::size_t count = 0;
  EXPECT_OK(cu::cuGraphGetNodes(graph_, nullptr, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_OK(cu::cuGraphDestroy(other));
}

TEST_F(GraphShapeTest, ANodeMayHaveManyDependenciesNamedOnce) {
  std::vector<CUgraphNode> many;
  CUgraphNode made = nullptr;
  for (int i = 0; i < 100; ++i) { many.push_back(empty()); }
  empty(many);
  EXPECT_EQ(edge_count(graph_), many.size());
  many.push_back(many.front());
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphAddEmptyNode(&made, graph_, many.data(), many.size()));
}

TEST_F(GraphShapeTest, EdgesAreAddedAllOrNone) {
  CUgraphNode const a = empty();
  CUgraphNode const b = empty();
  CUgraphNode const c = empty();
  CUgraphNode const from[] = {a, b, a};
  CUgraphNode const to[] = {b, c, b};  // the third edge is the first edge again
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphAddDependencies_v2(graph_, from, to, nullptr, 3));
  EXPECT_EQ(edge_count(graph_), 0u);
  EXPECT_OK(cu::cuGraphAddDependencies_v2(graph_, from, to, nullptr, 2));
  EXPECT_EQ(edge_count(graph_), 2u);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphRemoveDependencies_v2(graph_, from, to, nullptr, 3));
  EXPECT_EQ(edge_count(graph_), 2u);
  EXPECT_OK(cu::cuGraphRemoveDependencies_v2(graph_, from, to, nullptr, 1));
  EXPECT_EQ(edge_count(graph_), 1u);
  EXPECT_OK(cu::cuGraphAddDependencies_v2(graph_, nullptr, nullptr, nullptr, 0));
}

TEST_F(GraphShapeTest, ACycleCannotBeInstantiated) {
  CUgraphNode const outside = empty();
  CUgraphNode const a = empty({outside});
  CUgraphNode const b = empty({a});
  CUgraphNode const behind = empty({b});
  EXPECT_OK(cu::cuGraphAddDependencies_v2(graph_, &b, &a, nullptr, 1));
  CUgraphExec exec = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphInstantiateWithFlags(&exec, graph_, 0));
  CUDA_GRAPH_INSTANTIATE_PARAMS wanted{};
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphInstantiateWithParams(&exec, graph_, &wanted));
  EXPECT_EQ(wanted.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_TRUE(wanted.hErrNode_out == a || wanted.hErrNode_out == b);
  EXPECT_OK(cu::cuGraphRemoveDependencies_v2(graph_, &b, &a, nullptr, 1));
  EXPECT_OK(cu::cuGraphInstantiateWithParams(&exec, graph_, &wanted));
  EXPECT_EQ(wanted.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
  EXPECT_EQ(wanted.hErrNode_out, nullptr);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
  static_cast<void>(behind);
}

TEST_F(GraphShapeTest, DestroyedHandlesAreRefused) {
  CUgraphNode const node = add("nothing", {});
  CUgraphNode const later = empty({node});
  CUgraphExec const exec = instantiate();
  EXPECT_OK(cu::cuGraphDestroyNode(node));
  EXPECT_EQ(edge_count(graph_), 0u);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphDestroyNode(node));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, rewrite(exec, node, "nothing"));
  CUgraphNode made = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphAddEmptyNode(&made, graph_, &node, 1));
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphExecDestroy(exec));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphUpload(exec, nullptr));
  CUgraph const ended = std::exchange(graph_, nullptr);
  EXPECT_OK(cu::cuGraphDestroy(ended));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphDestroy(ended));
  CUgraphNodeType type{};
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphNodeGetType(later, &type));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphAddEmptyNode(&made, ended, nullptr, 0));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphDestroy(nullptr));
}

TEST_F(GraphShapeTest, NodesOfAnotherGraphOrAddedLaterAreNotInTheExecutableOne) {
  CUgraphNode const node = add("nothing", {});
  CUgraphExec const exec = instantiate();
  CUgraphNode const later = add("nothing", {});
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, rewrite(exec, later, "nothing"));
  CUgraph clone = nullptr;
  ASSERT_OK(cu::cuGraphClone(&clone, graph_));
  CUgraphNode copy = nullptr;
  EXPECT_OK(cu::cuGraphNodeFindInClone(&copy, node, clone));
  EXPECT_NE(copy, node);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, rewrite(exec, copy, "nothing"));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphNodeSetEnabled(exec, copy, 0));
  EXPECT_OK(rewrite(exec, node, "nothing"));
  EXPECT_OK(cu::cuGraphDestroy(clone));
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphShapeTest, ACloneIsIndependent) {
  int* const to = shared<int>();
  CUgraphNode const first = add("store", {}, to, 4);
  add("increment", {first}, to);
  CUgraph clone = nullptr;
  ASSERT_OK(cu::cuGraphClone(&clone, graph_));
  EXPECT_OK(cu::cuGraphDestroy(graph_));
  graph_ = clone;
  EXPECT_EQ(edge_count(clone), 1u);
  CUgraphExec const exec = instantiate();
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 5);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

TEST_F(GraphShapeTest, KernelParametersCanBeReadAndSet) {
  int* const to = shared<int>();
  CUgraphNode const node = add("store", {}, to, 4);
  CUgraphNodeType type{};
  EXPECT_OK(cu::cuGraphNodeGetType(node, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  CUDA_KERNEL_NODE_PARAMS found{};
  ASSERT_OK(cu::cuGraphKernelNodeGetParams_v2(node, &found));
  EXPECT_EQ(found.func, function("store"));
  EXPECT_EQ(*static_cast<int**>(found.kernelParams[0]), to);
  EXPECT_EQ(*static_cast<int*>(found.kernelParams[1]), 4);
  EXPECT_EQ(found.blockDimX, 1u);
  int value = 6;
  int* out = to;
  void* arguments[] = {&out, &value};
  found.kernelParams = arguments;
  CUgraphExec const before = instantiate();
  EXPECT_OK(cu::cuGraphKernelNodeSetParams_v2(node, &found));
  found.blockDimX = 0;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphKernelNodeSetParams_v2(node, &found));
  CUgraphExec const after = instantiate();
  EXPECT_OK(cu::cuGraphLaunch(after, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 6);
  // `before` still has the parameters that the node had at the instantiation.
  EXPECT_OK(cu::cuGraphLaunch(before, nullptr));
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_EQ(*to, 4);
  EXPECT_OK(cu::cuGraphExecDestroy(before));
  EXPECT_OK(cu::cuGraphExecDestroy(after));
}

TEST_F(GraphShapeTest, WrongNodesAreNotAdded) {
  CUgraphNode made = nullptr;
  auto wanted = parameters(function("nothing"), nullptr);
  wanted.blockDimX = 2000;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphAddKernelNode_v2(&made, graph_, nullptr, 0, &wanted));
  wanted = parameters(function("store"), nullptr);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphAddKernelNode_v2(&made, graph_, nullptr, 0, &wanted));
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphAddKernelNode_v2(&made, graph_, nullptr, 0, nullptr));
  EXPECT_STATUS(CUDA_ERROR_INVALID_HANDLE,
                cu::cuGraphAddEventRecordNode(&made, graph_, nullptr, 0, nullptr));
  std::vector<CUstreamBatchMemOpParams> operations;
  auto none = batch(operations);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphAddBatchMemOpNode(&made, graph_, nullptr, 0, &none));
  std::uint64_t outside = 0;
  operations = {write_operation(&outside, 1)};
  auto stack = batch(operations);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE,
                cu::cuGraphAddBatchMemOpNode(&made, graph_, nullptr, 0, &stack));
  EXPECT_EQ(made, nullptr);
  std::size_t count = 9;
  EXPECT_OK(cu::cuGraphGetNodes(graph_, nullptr, &count));
  EXPECT_EQ(count, 0u);
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphCreate(nullptr, 0));
  CUgraph other = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphCreate(&other, 1));
}

TEST_F(GraphShapeTest, FlagsOfAnExecutableGraphCanBeRead) {
  CUgraphExec exec = nullptr;
  EXPECT_STATUS(CUDA_ERROR_INVALID_VALUE, cu::cuGraphInstantiateWithFlags(&exec, graph_, 1u << 20));
  EXPECT_OK(cu::cuGraphInstantiateWithFlags(
      &exec, graph_,
      CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
  cuuint64_t flags = 0;
  EXPECT_OK(cu::cuGraphExecGetFlags(exec, &flags));
  EXPECT_EQ(flags, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));  // the graph has no nodes
  EXPECT_OK(cu::cuCtxSynchronize());
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

}  // namespace
}  // namespace flotilla::cpu_driver
