// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A driver table that emulates device-updated nodes on CPU devices. Before each launch, the table
// applies the records that the kernel builtin_functions::update applies on a GPU.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "driver/table.hpp"

namespace flotilla::dispatch {

/// Makes a copy of the CPU driver's table and replaces some entries. The state is static, so only
/// one such table can exist at a time.
struct updating_device {
  struct graph_facts {
    std::array<std::byte*, 1> records{};
    std::uint32_t count = 0;
    std::uint32_t stride = 0;
    std::map<CUgraphNode, CUDA_KERNEL_NODE_PARAMS> nodes;
    std::set<CUgraphNode> updatable;
    bool launched = false;

    void read(CUDA_KERNEL_NODE_PARAMS const& update) {
      std::memcpy(records.data(), update.kernelParams[0], sizeof(void*));
      std::memcpy(&count, update.kernelParams[1], sizeof count);
      std::memcpy(&stride, update.kernelParams[2], sizeof stride);
    }
  };
  static inline driver::table real;
  static inline CUfunction updater = nullptr;
  static inline std::map<CUgraph, graph_facts> graphs;
  static inline std::map<CUgraphExec, CUgraph> execs;
  static inline std::byte* last_records = nullptr;  // the records that were applied last
  static inline int attributes_asked = 0;
  static inline int refuse_attributes = 0;  // number of requests to refuse
  static inline int refuse_launches = 0;
  // Overwrites all updatable nodes before each launch, as if the graph had forgotten its updates.
  static inline bool forget = false;
  static inline bool lose_first = false;  // ignores the records of a graph's first launch

  static CUresult CUDAAPI add_kernel(CUgraphNode* made, CUgraph to, CUgraphNode const* after,
                                     std::size_t count, CUDA_KERNEL_NODE_PARAMS const* what) {
    CUresult const answer = real.graph_add_kernel_node(made, to, after, count, what);
    graph_facts& of = graphs[to];
    of.nodes[*made] = *what;
    if (what->func == updater) { of.read(*what); }
    return answer;
  }
  static CUresult CUDAAPI set_kernel(CUgraphExec in, CUgraphNode node,
                                     CUDA_KERNEL_NODE_PARAMS const* what) {
    CUresult const answer = real.graph_exec_kernel_node_set_params(in, node, what);
    graph_facts& of = graphs.at(execs.at(in));
    EXPECT_FALSE(of.updatable.contains(node) && answer == CUDA_SUCCESS)
        << "an updatable node must not be rewritten";
    if (answer == CUDA_SUCCESS && what->func == updater) { of.read(*what); }
    return answer;
  }
  static CUresult CUDAAPI set_attribute(CUgraphNode node, CUkernelNodeAttrID,
                                        CUkernelNodeAttrValue const* value) {
    ++attributes_asked;
    if (refuse_attributes > 0) { return --refuse_attributes, CUDA_ERROR_NOT_SUPPORTED; }
    for (auto& [graph, facts] : graphs) {
      if (facts.nodes.contains(node)) { facts.updatable.insert(node); }
    }
    // Like the driver, this function returns its result in the argument.
    const_cast<CUkernelNodeAttrValue*>(value)->deviceUpdatableKernelNode.devNode =
        reinterpret_cast<CUgraphDeviceNode>(node);
    return CUDA_SUCCESS;
  }
  static CUresult CUDAAPI instantiate(CUgraphExec* made, CUgraph of, unsigned long long flags) {
    CUresult const answer = real.graph_instantiate_with_flags(made, of, flags);
    if (answer == CUDA_SUCCESS) { execs[*made] = of; }
    return answer;
  }
  static CUresult CUDAAPI instantiate_with(CUgraphExec* made, CUgraph of,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* how) {
    CUresult const answer = real.graph_instantiate_with_params(made, of, how);
    if (answer == CUDA_SUCCESS) { execs[*made] = of; }
    return answer;
  }
  static CUresult CUDAAPI launch(CUgraphExec what, CUstream where) {
    if (refuse_launches > 0) { return --refuse_launches, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES; }
    graph_facts& of = graphs.at(execs.at(what));
    if (lose_first && std::exchange(of.launched, true) == false) {
      return real.graph_launch(what, where);
    }
    for (CUgraphNode const node : of.updatable) {
      if (!forget) { break; }
      of.nodes.at(node).gridDimX = 7;
      EXPECT_EQ(real.graph_node_set_enabled(what, node, 1), CUDA_SUCCESS);
    }
    if (of.count != 0) { last_records = of.records[0]; }
    for (std::uint32_t i = 0; i < of.count; ++i) {
      std::byte* const record = of.records[0] + std::size_t{i} * of.stride;
      CUgraphNode node = nullptr;
      std::uint32_t what_to_do = 0;
      std::memcpy(&node, record, sizeof node);
      std::memcpy(&what_to_do, record + 8, sizeof what_to_do);
      CUDA_KERNEL_NODE_PARAMS& held = of.nodes.at(node);
      if ((what_to_do & 2) != 0) { std::memcpy(&held.gridDimX, record + 12, 12); }
      if ((what_to_do & 3) != 0) {
        std::uint32_t argument_bytes = 0;
        std::memcpy(&argument_bytes, record + 24, sizeof argument_bytes);
        std::size_t bytes = argument_bytes;
        std::array<void*, 5> packed{CU_LAUNCH_PARAM_BUFFER_POINTER, record + 32,
                                    CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
        CUDA_KERNEL_NODE_PARAMS wanted = held;
        wanted.kernelParams = nullptr;
        wanted.extra = packed.data();
        EXPECT_EQ(real.graph_exec_kernel_node_set_params(what, node, &wanted), CUDA_SUCCESS);
      }
      if ((what_to_do & 4) != 0) {
        EXPECT_EQ(real.graph_node_set_enabled(what, node, (what_to_do & 8) != 0 ? 1 : 0),
                  CUDA_SUCCESS);
      }
    }
    return real.graph_launch(what, where);
  }
  static CUresult CUDAAPI upload(CUgraphExec, CUstream) { return CUDA_SUCCESS; }

  static std::shared_ptr<driver::table const> over(
      std::shared_ptr<driver::table const> const& under) {
    real = *under;
    graphs.clear();
    execs.clear();
    attributes_asked = refuse_attributes = refuse_launches = 0;
    forget = lose_first = false;
    auto made = std::make_shared<driver::table>(real);
    made->graph_add_kernel_node = add_kernel;
    made->graph_exec_kernel_node_set_params = set_kernel;
    made->graph_instantiate_with_params = instantiate_with;
    made->graph_kernel_node_set_attribute = set_attribute;
    made->graph_instantiate_with_flags = instantiate;
    made->graph_launch = launch;
    made->graph_upload = upload;
    return made;
  }
};

}  // namespace flotilla::dispatch
