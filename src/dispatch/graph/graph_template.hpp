#pragma once
// A CUDA graph that is instantiated once and filled with new launches for every batch.

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

/// `size` kernel nodes in `chains` parallel chains. The nodes at the same depth are a row. After
/// every `rows_per_completion` rows, and after the last one, a completion node writes the lane's
/// next number. A long batch is cheap, because a graph launch costs more than its nodes. With
/// several completion nodes the end of its first tasks is seen soon all the same. Sizes, chains and
/// rows are powers of two.
///
/// Several chains begin after an entry node, if there is a kernel for it
/// (builtin_functions::entry). A template whose tasks wait for another device begins with
/// builtin_functions::spin instead.
///
/// Nodes are filled in one of two ways. If the driver *rewrites* them, they may hold any launches.
/// If the device *updates* them itself, they hold launches of one kernel with one block shape (see
/// node_records), which costs the host a tenth.
///
/// Only the holder of the device's lease, with the context current.
class graph_template {
 public:
  struct shape {
    std::uint32_t size;
    std::uint32_t chains;
    std::uint32_t rows_per_completion;
    auto operator<=>(shape const&) const = default;
  };
  /// flotilla's kernels that it uses; null: none.
  struct functions {
    CUfunction completion = nullptr;  // null: the driver's memory operation
    CUfunction entry = nullptr;
    CUfunction spin = nullptr;  // not null: the template waits for another device
  };
  /// The parameters of builtin_functions::spin.
  struct device_wait {
    CUdeviceptr counter;
    std::uint64_t number;
    CUdeviceptr stop;
  };
  /// How the device updates it.
  struct update {
    CUfunction kernel;  // builtin_functions::update
    std::uint32_t argument_bytes;
    CUstream stream;  // where it will be launched first
    registered_slabs& memory;
    std::uint32_t family;  // the owner's number for it
  };
  /// What node `i` shall hold: a valid launch, which stays valid until the next call.
  using launches = std::function<CUDA_KERNEL_NODE_PARAMS const&(std::uint32_t i)>;

  /// A template that the driver rewrites. At first all nodes hold `any`, a valid launch.
  /// @throws driver_error, std::bad_alloc
  graph_template(context::context_handle const& context, shape const& wanted,
                 CUDA_KERNEL_NODE_PARAMS const& any, CUdeviceptr counter, functions const& kernels);
  /// A template that the device updates; the updating kernel is its entry node. Each node holds its
  /// task of the first batch from the beginning, so nothing depends on what the device changes for
  /// the very first launch. Such a change was once suspected to get lost
  /// (docs/results/h200x4-first-launch.txt).
  graph_template(context::context_handle const& context, shape const& wanted, launches const& first,
                 CUdeviceptr counter, CUfunction completion, update const& source);
  ~graph_template();
  graph_template(graph_template const&) = delete;
  graph_template& operator=(graph_template const&) = delete;

  [[nodiscard]] shape const& dimensions() const noexcept { return shape_; }
  /// The count of numbers that a launch writes.
  [[nodiscard]] std::uint32_t completions() const noexcept {
    return static_cast<std::uint32_t>(completions_.size());
  }
  /// The completion node that follows node `i`.
  [[nodiscard]] std::uint32_t completion_of(std::uint32_t i) const noexcept {
    return i / shape_.chains / shape_.rows_per_completion;
  }
  [[nodiscard]] bool has_completion_kernel() const noexcept { return has_completion_kernel_; }
  [[nodiscard]] bool is_device_updated() const noexcept { return records_ != nullptr; }
  [[nodiscard]] bool has_entry_node() const noexcept { return entry_ != nullptr; }
  [[nodiscard]] bool waits_on_device() const noexcept { return spin_ != nullptr; }
  [[nodiscard]] std::uint32_t family() const noexcept { return family_; }
  [[nodiscard]] bool was_launched() const noexcept { return was_launched_; }

  /// For a rewritten template: node `i` holds this launch from the next `launch` on; a launch in
  /// flight keeps its nodes. If the answer is not CUDA_SUCCESS, the node still holds an earlier
  /// task: `disable` it.
  [[nodiscard]] CUresult set(std::uint32_t i, CUDA_KERNEL_NODE_PARAMS const& what) noexcept;
  /// The same for a device-updated template, for a launch of its kernel with its block shape. The
  /// template must not be in flight.
  void put(std::uint32_t i, std::array<std::uint32_t, 3> const& grid,
           std::byte const* arguments) noexcept {
    records_->put(i, grid, arguments);
  }
  /// Node `i` does nothing until it is set again.
  [[nodiscard]] CUresult disable(std::uint32_t i) noexcept;
  /// For a template that waits for another device: sets what it waits for, from the next launch on.
  [[nodiscard]] CUresult set_wait(device_wait wait) noexcept;
  /// Puts the graph into the stream. Its completion nodes write `first_number` and the numbers
  /// after it.
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
  std::unique_ptr<node_records> records_;  // null: the driver rewrites it
  std::uint64_t disabled_ = 0;             // set of nodes
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUgraphNode entry_ = nullptr;
  CUfunction spin_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  std::vector<completion_node> completions_;
};

}  // namespace flotilla::dispatch
