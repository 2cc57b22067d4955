#pragma once
// The control: graph templates without flotilla. Chains of kernel nodes side by side in one graph,
// some graphs over each of some streams, relaunched as they are or rewritten for each batch.

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "context/floating_context.hpp"
#include "rig.hpp"

namespace flotilla::bench {

class plain_chains final : public rig {
 public:
  struct shape {
    int nodes = 32;  // of a graph
    int width = 1;   // chains of a graph
    int streams = 8;
    int graphs = 4;  // of a stream: one can be rewritten while another runs
    bool stores = false;  // its kernels write a word each; else they are empty
    bool operator==(shape const&) const = default;
  };
  explicit plain_chains(shape const& wanted);
  ~plain_chains() override;

  /// Launches `batches` graphs as they are, one stream after the other, and waits for all.
  void relaunch(std::int64_t batches);
  /// The same, every node rewritten before to spin for so long.
  void rewrite(std::int64_t batches, unsigned threads, unsigned long long nanoseconds);

  shape const made_as;

 private:
  struct graph {
    CUgraph described = nullptr;
    CUgraphExec runs = nullptr;
    std::vector<CUgraphNode> nodes;
  };
  struct lane {
    CUstream stream = nullptr;
    std::vector<graph> graphs;
    std::size_t next = 0;
  };
  void make();
  void make_graph(graph& into) const;
  template <class Rewrite>
  void launch(std::int64_t batches, Rewrite const& each);

  std::shared_ptr<driver::table const> api_;
  std::unique_ptr<context::floating_context> context_;
  CUlibrary library_ = nullptr;
  CUfunction null_ = nullptr;
  CUfunction spin_ = nullptr;
  CUfunction store_ = nullptr;
  CUdeviceptr words_ = 0;  // one for each node
  std::vector<lane> lanes_;
};

}  // namespace flotilla::bench
