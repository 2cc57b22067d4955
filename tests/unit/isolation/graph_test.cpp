// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Graphs of an isolated device.
#include "unit/isolation/isolated_fixture.hpp"

namespace flotilla::test {
namespace {

class ForwardingGraphTest : public isolated_fixture {};

// requirement
TEST_F(ForwardingGraphTest, GraphsAreBuiltRewrittenAndLaunched) {
  CUfunction const add_to = function("add_to");
  CUdeviceptr where = 0;
  FLOTILLA_OK(api().mem_alloc(&where, 4));
  FLOTILLA_OK(api().memset_d32(where, 0, 1));
  CUgraph graph = nullptr;
  FLOTILLA_OK(api().graph_create(&graph, 0));
  std::uint32_t amount = 1;
  void* arguments[] = {&where, &amount};
  CUDA_KERNEL_NODE_PARAMS_v2 node{};
  node.func = add_to;
  node.gridDimX = node.gridDimY = node.gridDimZ = 1;
  node.blockDimX = node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = arguments;
  std::array<CUgraphNode, 3> nodes{};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    FLOTILLA_OK(api().graph_add_kernel_node(&nodes[i], graph, nodes.data(), i, &node));
  }
  CUgraphExec exec = nullptr;
  FLOTILLA_OK(api().graph_instantiate_with_flags(&exec, graph, 0));
  amount = 10;
  FLOTILLA_OK(api().graph_exec_kernel_node_set_params(exec, nodes[1], &node));
  FLOTILLA_OK(api().graph_node_set_enabled(exec, nodes[2], 0));
  FLOTILLA_OK(api().graph_launch(exec, nullptr));
  FLOTILLA_OK(api().ctx_synchronize());
  EXPECT_EQ(word(where), 11u);
  FLOTILLA_OK(api().graph_destroy(graph));
  FLOTILLA_OK(api().graph_launch(exec, nullptr));  // the executable does not need the graph
  FLOTILLA_OK(api().ctx_synchronize());
  EXPECT_EQ(word(where), 22u);
  FLOTILLA_OK(api().graph_exec_destroy(exec));
}

// requirement: a refused change is reported by the next launch, which then does nothing
TEST_F(ForwardingGraphTest, ARefusedChangeIsReportedByTheLaunch) {
  CUfunction const add_to = function("add_to");
  CUdeviceptr where = 0;
  FLOTILLA_OK(api().mem_alloc(&where, 4));
  FLOTILLA_OK(api().memset_d32(where, 0, 1));
  CUgraph graph = nullptr;
  FLOTILLA_OK(api().graph_create(&graph, 0));
  std::uint32_t amount = 1;
  void* arguments[] = {&where, &amount};
  CUDA_KERNEL_NODE_PARAMS_v2 node{};
  node.func = add_to;
  node.gridDimX = node.gridDimY = node.gridDimZ = 1;
  node.blockDimX = node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = arguments;
  CUgraphNode made = nullptr;
  FLOTILLA_OK(api().graph_add_kernel_node(&made, graph, nullptr, 0, &node));
  CUgraphExec exec = nullptr;
  FLOTILLA_OK(api().graph_instantiate_with_flags(&exec, graph, 0));
  for (bool const has_call_between : {false, true}) {
    FLOTILLA_OK(api().memset_d32(where, 0, 1));
    node.blockDimX = 100000;  // no driver accepts this
    FLOTILLA_OK(api().graph_exec_kernel_node_set_params(exec, made, &node));
    if (has_call_between) { FLOTILLA_OK(api().ctx_set_limit(CU_LIMIT_STACK_SIZE, 2048)); }
    EXPECT_NE(api().graph_launch(exec, nullptr), CUDA_SUCCESS);
    node.blockDimX = 1;
    amount = 5;
    FLOTILLA_OK(api().graph_exec_kernel_node_set_params(exec, made, &node));
    FLOTILLA_OK(api().graph_launch(exec, nullptr));
    FLOTILLA_OK(api().ctx_synchronize());
    EXPECT_EQ(word(where), 5u);
  }
  FLOTILLA_OK(api().graph_exec_destroy(exec));
  FLOTILLA_OK(api().graph_destroy(graph));
}

}  // namespace
}  // namespace flotilla::test
