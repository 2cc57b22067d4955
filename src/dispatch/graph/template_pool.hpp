#pragma once
// The graph templates of one device that the driver rewrites.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/graph_template.hpp"

namespace flotilla::dispatch {

/// Templates that are not in flight, by shape; new ones are created when needed. A template belongs
/// to no lane: any free one may carry the next batch. Only the holder of the device's lease, with
/// the context current.
class template_pool {
 public:
  static constexpr std::uint32_t max_size = 64;
  static constexpr std::uint32_t max_chains = 8;
  static constexpr std::uint32_t max_completions = 16;

  explicit template_pool(context::context_handle const& context) noexcept;
  /// Whether this driver has every call that templates need.
  [[nodiscard]] bool usable() const noexcept { return usable_; }
  /// flotilla's kernels that templates use (see builtin_functions). Call it before a template is
  /// created.
  void use(CUfunction entry, CUfunction spin) noexcept {
    entry_ = entry;
    spin_ = spin;
  }

  struct request {
    graph_template::shape shape;      // rows_per_completion may be larger than there are rows
    CUfunction completion = nullptr;  // the same kernel in all requests that have one
    bool waits_on_device = false;     // needs a spin kernel
  };
  /// @param any  A valid launch, if a template has to be created.
  /// @throws driver_error, std::bad_alloc  The driver cannot create a template of `any`.
  [[nodiscard]] graph_template& take(request wanted, CUDA_KERNEL_NODE_PARAMS const& any,
                                     CUdeviceptr counter);
  /// Call it after its batch is done, or if its batch never began.
  void give_back(graph_template& unused) noexcept;
  void destroy() noexcept;
  [[nodiscard]] std::size_t made() const noexcept { return all_.size(); }

 private:
  [[nodiscard]] std::vector<graph_template*>& free_list(graph_template::shape const& shape,
                                                        bool has_completion_kernel,
                                                        bool waits_on_device) noexcept;

  context::context_handle const& context_;
  bool const usable_;
  CUfunction entry_ = nullptr;
  CUfunction spin_ = nullptr;
  std::vector<std::unique_ptr<graph_template>> all_;
  // Indices: the logarithms of size, chains and rows, and the two flags.
  std::array<std::array<std::array<std::array<std::vector<graph_template*>, 4>, 7>, 4>, 7> free_;
};

}  // namespace flotilla::dispatch
