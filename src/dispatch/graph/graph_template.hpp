// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A CUDA graph that is instantiated once and filled with new launches for each batch.

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/completion_node.hpp"

namespace flotilla::dispatch {

/// A graph of `size` kernel nodes in `chains` parallel chains. The nodes at the same depth are a
/// row. After every `rows_per_completion` rows, and after the last row, a completion node writes
/// the lane's next number. Launching many tasks as one graph is cheap, because a launch costs more
/// than the graph's nodes. The completion nodes between rows make the end of the first tasks
/// visible before the last tasks have ended. `size`, `chains` and `rows_per_completion` are powers
/// of two.
///
/// A graph of several chains begins with the entry kernel if the device has this kernel
/// (builtin_functions::entry). If the tasks wait for another device, the graph begins with
/// builtin_functions::spin instead.
///
/// Threads: only the holder of the device's lease, with the context current.
class graph_template {
 public:
  static constexpr std::uint32_t max_size = 64;
  struct shape {
    std::uint32_t size;
    std::uint32_t chains;
    std::uint32_t rows_per_completion;
    auto operator<=>(shape const&) const = default;
  };
  /// flotilla's kernels that a template uses.
  struct functions {
    CUfunction completion = nullptr;  // null: a write-value operation of the driver
    CUfunction entry = nullptr;
    CUfunction spin = nullptr;  // null: the template waits for no other device
  };
  /// The parameters of builtin_functions::spin.
  struct device_wait {
    CUdeviceptr counter;
    std::uint64_t number;
    CUdeviceptr stop;
  };
  /// At first all nodes hold the launch `any`, which must be valid.
  /// @throws driver_error, std::bad_alloc
  graph_template(context::context_handle const& context, shape const& wanted,
                 CUDA_KERNEL_NODE_PARAMS const& any, CUdeviceptr counter, functions const& kernels);
  ~graph_template();
  graph_template(graph_template const&) = delete;
  graph_template& operator=(graph_template const&) = delete;

  [[nodiscard]] shape const& dimensions() const noexcept { return shape_; }
  /// The number of completion nodes.
  [[nodiscard]] std::uint32_t completions() const noexcept {
    return static_cast<std::uint32_t>(completions_.size());
  }
  /// Returns the index of the completion node that follows node `i`.
  [[nodiscard]] std::uint32_t completion_of(std::uint32_t i) const noexcept {
    return i / shape_.chains / shape_.rows_per_completion;
  }
  [[nodiscard]] bool has_completion_kernel() const noexcept { return has_completion_kernel_; }
  [[nodiscard]] bool has_entry_node() const noexcept { return entry_ != nullptr; }
  [[nodiscard]] bool waits_on_device() const noexcept { return spin_ != nullptr; }

  /// Rewrites node `i`. The change takes effect with the next `launch`; a launch in flight keeps
  /// its nodes. On failure the node still holds an earlier task, and the caller must `disable` the
  /// node.
  [[nodiscard]] CUresult set(std::uint32_t i, CUDA_KERNEL_NODE_PARAMS const& what) noexcept;
  /// Disables node `i`: the node does nothing until its launch is set again.
  [[nodiscard]] CUresult disable(std::uint32_t i) noexcept;
  /// Sets the wait of the next launch. Only for templates that wait for another device.
  [[nodiscard]] CUresult set_wait(device_wait wait) noexcept;
  /// Launches the graph into the stream. The completion nodes write consecutive numbers, beginning
  /// with `first_number`.
  [[nodiscard]] CUresult launch(CUstream stream, CUdeviceptr counter,
                                std::uint64_t first_number) noexcept;

 private:
  void build(CUDA_KERNEL_NODE_PARAMS const& any, CUdeviceptr counter, CUfunction completion);
  void add_entry(CUDA_KERNEL_NODE_PARAMS const& kernel);
  void destroy() noexcept;

  context::context_handle const& context_;
  shape const shape_;
  bool const has_completion_kernel_;
  std::uint64_t disabled_ = 0;  // the set of disabled nodes
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUgraphNode entry_ = nullptr;
  CUfunction spin_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  std::vector<completion_node> completions_;
};

}  // namespace flotilla::dispatch
