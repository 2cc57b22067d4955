// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture for tests of graphs. It has functions that add nodes, and checks that no graph handle
// is leaked.

#include <initializer_list>
#include <vector>

#include "cpu_driver/graph/graph_exec.hpp"
#include "driver_test.hpp"

namespace flotilla::cpu_driver {

class GraphTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    ASSERT_OK(cu::cuGraphCreate(&graph_, 0));
  }

  void TearDown() override {
    if (graph_ != nullptr) { EXPECT_OK(cu::cuGraphDestroy(graph_)); }
    ContextTest::TearDown();
    EXPECT_EQ(graph::table().live(), 0u);
    EXPECT_EQ(node_place::table().live(), 0u);
    EXPECT_EQ(graph_exec::table().live(), 0u);
  }

  static CUDA_KERNEL_NODE_PARAMS parameters(CUfunction what, void** arguments) {
    CUDA_KERNEL_NODE_PARAMS made{};
    made.func = what;
    made.gridDimX = made.gridDimY = made.gridDimZ = 1;
    made.blockDimX = made.blockDimY = made.blockDimZ = 1;
    made.kernelParams = arguments;
    return made;
  }

  template <class... Arguments>
  CUgraphNode add(char const* name, std::vector<CUgraphNode> const& after, Arguments... arguments) {
    void* addresses[] = {&arguments..., nullptr};
    auto const wanted = parameters(function(name), addresses);
    CUgraphNode made = nullptr;
    EXPECT_OK(cu::cuGraphAddKernelNode_v2(&made, graph_, after.data(), after.size(), &wanted));
    return made;
  }

  template <class... Arguments>
  CUresult rewrite(CUgraphExec exec, CUgraphNode which, char const* name, Arguments... arguments) {
    void* addresses[] = {&arguments..., nullptr};
    auto const wanted = parameters(function(name), addresses);
    return cu::cuGraphExecKernelNodeSetParams_v2(exec, which, &wanted);
  }

  static CUstreamBatchMemOpParams write_operation(std::uint64_t* to, std::uint64_t value) {
    CUstreamBatchMemOpParams made{};
    made.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    made.writeValue.address = address_of(to);
    made.writeValue.value64 = value;
    return made;
  }

  static CUstreamBatchMemOpParams wait_operation(std::uint32_t* at, std::uint32_t value) {
    CUstreamBatchMemOpParams made{};
    made.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    made.waitValue.address = address_of(at);
    made.waitValue.value = value;
    made.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    return made;
  }

  CUDA_BATCH_MEM_OP_NODE_PARAMS batch(std::vector<CUstreamBatchMemOpParams>& operations) const {
    return {context_, static_cast<unsigned>(operations.size()), operations.data(), 0};
  }

  CUgraphNode add_operations(std::vector<CUgraphNode> const& after,
                             std::vector<CUstreamBatchMemOpParams> operations) {
    auto const wanted = batch(operations);
    CUgraphNode made = nullptr;
    EXPECT_OK(cu::cuGraphAddBatchMemOpNode(&made, graph_, after.data(), after.size(), &wanted));
    return made;
  }

  CUgraphExec instantiate() {
    CUgraphExec made = nullptr;
    EXPECT_OK(cu::cuGraphInstantiateWithFlags(&made, graph_, 0));
    return made;
  }

  CUgraph graph_ = nullptr;
};

}  // namespace flotilla::cpu_driver
