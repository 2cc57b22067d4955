// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A CUDA graph that is instantiated once and filled with new launches for each batch.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/completion_node.hpp"
#include "dispatch/graph/node_records.hpp"

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
/// There are two kinds of templates. In the first kind, the driver *rewrites* the nodes, and each
/// node may hold any launch. In the second kind, the device itself *updates* the nodes, which costs
/// the host a tenth as much. All nodes of such a template hold launches of one kernel with one
/// block size (see node_records).
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
  /// The parameters of a device-updated template.
  struct update {
    CUfunction kernel;  // builtin_functions::update
    std::uint32_t argument_bytes;
    CUstream stream;  // the stream of the first launch
    registered_slabs& memory;
    std::uint32_t family;  // the index of the family that owns the template
  };
  /// A function that returns the first launch of node `i`. The returned parameters must be valid
  /// until the next call.
  using launches = std::function<CUDA_KERNEL_NODE_PARAMS const&(std::uint32_t i)>;

  /// Makes a template that the driver rewrites. At first all nodes hold the launch `any`, which
  /// must be valid.
  /// @throws driver_error, std::bad_alloc
  graph_template(context::context_handle const& context, shape const& wanted,
                 CUDA_KERNEL_NODE_PARAMS const& any, CUdeviceptr counter, functions const& kernels);
  /// Makes a template that the device updates. Its entry node is the updating kernel. Each node is
  /// created with its task of the first batch, so the first launch needs no changes by the device.
  /// There was once a suspicion that such changes get lost in a first launch
  /// (docs/results/h200x4-first-launch.txt).
  graph_template(context::context_handle const& context, shape const& wanted, launches const& first,
                 CUdeviceptr counter, CUfunction completion, update const& source);
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
  [[nodiscard]] bool is_device_updated() const noexcept { return records_ != nullptr; }
  [[nodiscard]] bool has_entry_node() const noexcept { return entry_ != nullptr; }
  [[nodiscard]] bool waits_on_device() const noexcept { return spin_ != nullptr; }
  [[nodiscard]] std::uint32_t family() const noexcept { return family_; }
  [[nodiscard]] bool was_launched() const noexcept { return was_launched_; }

  /// Rewrites node `i`. Only for templates that the driver rewrites. The change takes effect with
  /// the next `launch`; a launch in flight keeps its nodes. On failure the node still holds an
  /// earlier task, and the caller must `disable` the node.
  [[nodiscard]] CUresult set(std::uint32_t i, CUDA_KERNEL_NODE_PARAMS const& what) noexcept;
  /// Sets the launch of node `i`. Only for device-updated templates. The launch must use the
  /// template's kernel and block size. The template must not be in flight.
  void put(std::uint32_t i, std::array<std::uint32_t, 3> const& grid,
           std::byte const* arguments) noexcept {
    records_->put(i, grid, arguments);
  }
  /// Disables node `i`: the node does nothing until its launch is set again.
  [[nodiscard]] CUresult disable(std::uint32_t i) noexcept;
  /// Sets the wait of the next launch. Only for templates that wait for another device.
  [[nodiscard]] CUresult set_wait(device_wait wait) noexcept;
  /// Launches the graph into the stream. The completion nodes write consecutive numbers, beginning
  /// with `first_number`.
  [[nodiscard]] CUresult launch(CUstream stream, CUdeviceptr counter,
                                std::uint64_t first_number) noexcept;

 private:
  void build(launches const& first, CUdeviceptr counter, CUfunction completion);
  void add_entry(CUDA_KERNEL_NODE_PARAMS const& kernel);
  void make_updatable(std::uint32_t i);
  void destroy() noexcept;

  context::context_handle const& context_;
  shape const shape_;
  bool const has_completion_kernel_;
  bool was_launched_ = false;
  std::uint32_t family_ = 0;
  std::unique_ptr<node_records> records_;  // null: the driver rewrites the template
  std::uint64_t disabled_ = 0;             // the set of disabled nodes
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUgraphNode entry_ = nullptr;
  CUfunction spin_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  std::vector<completion_node> completions_;
};

}  // namespace flotilla::dispatch
