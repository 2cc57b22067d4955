// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// One device's graph templates whose nodes are rewritten by the driver.

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/graph_template.hpp"

namespace flotilla::dispatch {

/// The free templates, by shape. If none is free, `take` creates one. A template belongs to no
/// lane: every lane may use any free template of the requested shape. Threads: only the holder of
/// the device's lease, with the context current.
class template_pool {
 public:
  static constexpr std::uint32_t max_size = 64;
  static constexpr std::uint32_t max_chains = 8;
  static constexpr std::uint32_t max_completions = 16;

  explicit template_pool(context::context_handle const& context) noexcept;
  /// Returns whether the driver has every function that templates need.
  [[nodiscard]] bool usable() const noexcept { return usable_; }
  /// Sets the kernels of flotilla that templates use (see builtin_functions). Call it before the
  /// first `take`.
  void use(CUfunction entry, CUfunction spin) noexcept {
    entry_ = entry;
    spin_ = spin;
  }

  struct request {
    graph_template::shape shape;  // rows_per_completion may exceed the number of rows
    // Either null or the completion kernel. All requests that are not null must have the same
    // kernel.
    CUfunction completion = nullptr;
    bool waits_on_device = false;  // requires that `use` has set a spin kernel
  };
  /// Returns a free template, or creates one.
  /// @param any  A valid launch for all nodes of a new template.
  /// @throws driver_error, std::bad_alloc  The template cannot be created.
  [[nodiscard]] graph_template& take(request wanted, CUDA_KERNEL_NODE_PARAMS const& any,
                                     CUdeviceptr counter);
  /// Takes a template back. Call it after the batch has ended or was cancelled.
  void give_back(graph_template& unused) noexcept;
  void destroy() noexcept;
  [[nodiscard]] std::size_t made() const noexcept { return all_.size(); }

 private:
  [[nodiscard]] std::vector<graph_template*>& free_list(graph_template::shape const& shape,
                                                        bool has_completion_kernel,
                                                        bool waits_on_device);

  context::context_handle const& context_;
  bool const usable_;
  CUfunction entry_ = nullptr;
  CUfunction spin_ = nullptr;
  std::vector<std::unique_ptr<graph_template>> all_;
  // The free templates by shape, kind of completion node, and wait.
  std::unordered_map<std::uint32_t, std::vector<graph_template*>> free_;
};

}  // namespace flotilla::dispatch
