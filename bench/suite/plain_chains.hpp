// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A control (something that flotilla is compared with): CUDA graphs without flotilla. Each graph
// has parallel chains of kernel nodes. Each stream has several graphs. The graphs are relaunched
// unchanged or are rewritten before each launch.

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "cached_fixture.hpp"
#include "context/context_handle.hpp"

namespace flotilla::bench {

class plain_chains final : public cached_fixture {
 public:
  struct options {
    int nodes = 32;  // nodes per graph
    int width = 1;   // chains per graph
    int streams = 8;
    // Graphs per stream. With several, one graph can be rewritten while another graph runs.
    int graphs = 4;
    bool stores = false;  // true: each kernel writes a word; false: the kernels are empty
    bool operator==(options const&) const = default;
  };
  explicit plain_chains(options const& wanted);
  ~plain_chains() override;

  /// Launches graphs `batches` times without changing them, on the streams in turn. Waits until all
  /// launches have ended.
  void relaunch(std::int64_t batches);
  /// Like relaunch(), but before each launch rewrites every node to a kernel of `threads` threads
  /// that spins for `nanoseconds`.
  void rewrite(std::int64_t batches, unsigned threads, unsigned long long nanoseconds);

  options const created_with;

 private:
  struct chain_graph {
    CUgraph description = nullptr;
    CUgraphExec executable = nullptr;
    std::vector<CUgraphNode> nodes;
  };
  struct chain_stream {
    CUstream stream = nullptr;
    std::vector<chain_graph> graphs;
    std::size_t next = 0;
  };
  void create();
  void create_graph(chain_graph& graph) const;
  template <class Rewrite>
  void launch(std::int64_t batches, Rewrite const& rewrite);

  std::shared_ptr<driver::table const> api_;
  std::unique_ptr<context::context_handle> context_;
  CUlibrary library_ = nullptr;
  CUfunction null_ = nullptr;
  CUfunction spin_ = nullptr;
  CUfunction store_ = nullptr;
  CUdeviceptr words_ = 0;  // device memory with one word per node
  std::vector<chain_stream> lanes_;
};

}  // namespace flotilla::bench
