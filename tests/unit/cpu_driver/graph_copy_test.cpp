// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Graph nodes that copy and fill memory.
#include <cstring>
#include <vector>

#include "graph_test.hpp"

namespace flotilla::cpu_driver {
namespace {

class GraphCopyTest : public GraphTest {
 protected:
  static constexpr std::size_t words = 8;
  void SetUp() override {
    GraphTest::SetUp();
    ASSERT_OK(cu::cuMemAlloc_v2(&device_, words * sizeof(unsigned)));
    ASSERT_OK(cu::cuMemAlloc_v2(&other_, words * sizeof(unsigned)));
  }
  void TearDown() override {
    EXPECT_OK(cu::cuMemFree_v2(device_));
    EXPECT_OK(cu::cuMemFree_v2(other_));
    GraphTest::TearDown();
  }

  static CUDA_MEMCPY3D row(std::size_t bytes) {
    CUDA_MEMCPY3D made{};
    made.WidthInBytes = bytes;
    made.Height = made.Depth = 1;
    return made;
  }
  static CUDA_MEMCPY3D up(CUdeviceptr to, std::vector<unsigned> const& from) {
    CUDA_MEMCPY3D made = row(from.size() * sizeof(unsigned));
    made.srcMemoryType = CU_MEMORYTYPE_HOST;
    made.srcHost = from.data();
    made.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    made.dstDevice = to;
    return made;
  }
  static CUDA_MEMCPY3D down(std::vector<unsigned>& to, CUdeviceptr from) {
    CUDA_MEMCPY3D made = row(to.size() * sizeof(unsigned));
    made.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    made.srcDevice = from;
    made.dstMemoryType = CU_MEMORYTYPE_HOST;
    made.dstHost = to.data();
    return made;
  }
  CUDA_MEMCPY3D within() const {
    CUDA_MEMCPY3D made = row(words * sizeof(unsigned));
    made.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    made.srcDevice = device_;
    made.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    made.dstDevice = other_;
    return made;
  }
  CUDA_MEMSET_NODE_PARAMS fill(unsigned value, std::size_t count) const {
    return {device_, 0, value, 4, count, 1};
  }

  CUgraphNode add_copy(std::vector<CUgraphNode> const& after, CUDA_MEMCPY3D const& what) {
    CUgraphNode made = nullptr;
    EXPECT_OK(cu::cuGraphAddMemcpyNode(&made, graph_, after.data(), after.size(), &what, context_));
    return made;
  }
  CUgraphNode add_fill(std::vector<CUgraphNode> const& after, CUDA_MEMSET_NODE_PARAMS const& what) {
    CUgraphNode made = nullptr;
    EXPECT_OK(cu::cuGraphAddMemsetNode(&made, graph_, after.data(), after.size(), &what, context_));
    return made;
  }
  void run(CUgraphExec exec) {
    EXPECT_OK(cu::cuGraphLaunch(exec, nullptr));
    EXPECT_OK(cu::cuStreamSynchronize(nullptr));
  }

  CUdeviceptr device_ = 0;
  CUdeviceptr other_ = 0;
};

// requirement: copies and fills run in the order of the graph. They use the parameters that were
// set last before the launch.
TEST_F(GraphCopyTest, RunInOrderAndCanBeRewritten) {
  std::vector<unsigned> const in{1, 2, 3, 4, 5, 6, 7, 8}, other_in(words, 50);
  std::vector<unsigned> out(words), other_out(words);
  CUgraphNode const first = add_copy({}, up(device_, in));
  CUgraphNode const second = add_fill({first}, fill(9, 2));
  CUgraphNode const third = add_copy({second}, within());
  CUgraphNode const last = add_copy({third}, down(out, other_));
  CUgraphNodeType type{};
  EXPECT_OK(cu::cuGraphNodeGetType(first, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEMCPY);
  EXPECT_OK(cu::cuGraphNodeGetType(second, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEMSET);
  CUgraphExec const exec = instantiate();
  run(exec);
  EXPECT_EQ(out, (std::vector<unsigned>{9, 9, 3, 4, 5, 6, 7, 8}));
  auto const new_up = up(device_, other_in);
  auto const new_fill = fill(10, 3);
  auto const new_down = down(other_out, other_);
  EXPECT_OK(cu::cuGraphExecMemcpyNodeSetParams(exec, first, &new_up, context_));
  EXPECT_OK(cu::cuGraphExecMemsetNodeSetParams(exec, second, &new_fill, context_));
  EXPECT_OK(cu::cuGraphExecMemcpyNodeSetParams(exec, last, &new_down, context_));
  run(exec);
  EXPECT_EQ(out, (std::vector<unsigned>{9, 9, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(other_out, (std::vector<unsigned>{10, 10, 10, 50, 50, 50, 50, 50}));
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

// requirement: an invalid copy or fill is refused, both when a node is added and when a node is
// rewritten
TEST_F(GraphCopyTest, AreCheckedWhenTheyAreSet) {
  std::vector<unsigned> const in(words);
  CUgraphNode const copy = add_copy({}, up(device_, in));
  CUgraphNode const filled = add_fill({}, fill(1, words));
  CUgraphExec const exec = instantiate();
  auto const refused = [&](CUDA_MEMCPY3D const& what, CUcontext context, CUresult status) {
    CUgraphNode made = nullptr;
    EXPECT_EQ(cu::cuGraphAddMemcpyNode(&made, graph_, nullptr, 0, &what, context), status);
    EXPECT_EQ(cu::cuGraphExecMemcpyNodeSetParams(exec, copy, &what, context), status);
  };
  auto const refused_fill = [&](CUDA_MEMSET_NODE_PARAMS const& what, CUcontext context,
                                CUresult status) {
    CUgraphNode made = nullptr;
    EXPECT_EQ(cu::cuGraphAddMemsetNode(&made, graph_, nullptr, 0, &what, context), status);
    EXPECT_EQ(cu::cuGraphExecMemsetNodeSetParams(exec, filled, &what, context), status);
  };
  auto const good = up(device_, in);
  refused(good, nullptr, CUDA_ERROR_INVALID_CONTEXT);
  auto bad = good;
  bad.WidthInBytes = 0;
  refused(bad, context_, CUDA_ERROR_INVALID_VALUE);
  bad = good;
  bad.WidthInBytes += 1'000'000;
  refused(bad, context_, CUDA_ERROR_INVALID_VALUE);
  bad = good;
  bad.Height = 2;
  refused(bad, context_, CUDA_ERROR_NOT_SUPPORTED);
  bad = good;
  bad.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  refused(bad, context_, CUDA_ERROR_NOT_SUPPORTED);
  auto wrong = fill(1, words);
  refused_fill(wrong, nullptr, CUDA_ERROR_INVALID_CONTEXT);
  wrong.elementSize = 3;
  refused_fill(wrong, context_, CUDA_ERROR_INVALID_VALUE);
  refused_fill(fill(1, 0), context_, CUDA_ERROR_INVALID_VALUE);
  refused_fill(fill(1, words * 100'000), context_, CUDA_ERROR_INVALID_VALUE);
  wrong = fill(1, 1);
  wrong.height = 2;
  refused_fill(wrong, context_, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cu::cuGraphExecMemcpyNodeSetParams(exec, filled, &good, context_),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu::cuGraphExecMemcpyNodeSetParams(exec, copy, nullptr, context_),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu::cuGraphExecMemsetNodeSetParams(exec, filled, nullptr, context_),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cu::cuGraphExecDestroy(exec));
}

}  // namespace
}  // namespace flotilla::cpu_driver
