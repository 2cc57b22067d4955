#pragma once
// CUDA graphs that are instantiated once and rewritten for every batch.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "context/floating_context.hpp"
#include "dispatch/end_node.hpp"

namespace flotilla::dispatch {

/// `size` kernel nodes in `width` chains side by side, and behind them all one node that writes a lane's number.
/// Only the holder of the device's lease, with the context current.
class graph_template {
 public:
  /// All nodes hold `any` at first: a launch that is valid.
  /// @param marker  What writes the number: see end_node.
  /// @throws driver_error
  graph_template(context::floating_context const& context, std::uint32_t size, std::uint32_t width,
                 CUDA_KERNEL_NODE_PARAMS const& any, CUdeviceptr counter, CUfunction marker);
  ~graph_template();
  graph_template(graph_template const&) = delete;
  graph_template& operator=(graph_template const&) = delete;

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] std::uint32_t width() const noexcept { return width_; }
  [[nodiscard]] bool marked() const noexcept { return marked_; }

  /// Has node `i` hold this launch from the next `launch` on. One that is in flight keeps what it had.
  /// Other than CUDA_SUCCESS, the node still holds an earlier task: `disable` it.
  [[nodiscard]] CUresult set(std::uint32_t i, CUDA_KERNEL_NODE_PARAMS const& what) noexcept;
  /// Node `i` does nothing until it is set again.
  [[nodiscard]] CUresult disable(std::uint32_t i) noexcept;
  /// Puts it into the stream; behind its kernels `number` is written to `counter`.
  [[nodiscard]] CUresult launch(CUstream stream, CUdeviceptr counter, std::uint64_t number) noexcept;

 private:
  void build(CUDA_KERNEL_NODE_PARAMS const& any, CUdeviceptr counter, CUfunction marker);
  void destroy() noexcept;

  context::floating_context const& context_;
  std::uint32_t width_;
  bool marked_;
  std::uint64_t disabled_ = 0;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  end_node end_;
};

/// The templates of one device that are not in flight, by size, width and end; made as they are needed. A template
/// belongs to no lane: whichever is free carries the next batch.
class template_pool {
 public:
  static constexpr std::uint32_t most_size = 64;
  static constexpr std::uint32_t most_width = 4;

  explicit template_pool(context::floating_context const& context) noexcept : context_(context) {}
  /// Whether this driver has all that templates need.
  [[nodiscard]] bool usable() const noexcept;
  /// A template of `size`, a power of two, in chains of `width`, one too and no more than `size`.
  /// @param marker  What writes its number: see end_node. One and the same, where there is one.
  /// @throws driver_error  A new one was needed, and could not be made of `any`.
  [[nodiscard]] graph_template& take(std::uint32_t size, std::uint32_t width, CUDA_KERNEL_NODE_PARAMS const& any,
                                     CUdeviceptr counter, CUfunction marker);
  /// When its batch is done, or never began.
  void give_back(graph_template& done) noexcept;
  void destroy() noexcept;
  [[nodiscard]] std::size_t made() const noexcept { return all_.size(); }

 private:
  [[nodiscard]] std::vector<graph_template*>& free_of(std::uint32_t size, std::uint32_t width, bool marked) noexcept;

  context::floating_context const& context_;
  std::vector<std::unique_ptr<graph_template>> all_;
  std::array<std::array<std::array<std::vector<graph_template*>, 2>, 3>, 7> free_;  // by the logarithms of size and
                                                                                   // width, and by their end
};

}  // namespace flotilla::dispatch
