// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The context, the kernel and the memory of the controls, which call the driver without flotilla's
// runtime. The context is current on the calling thread as long as a scope exists.

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "context/context_handle.hpp"
#include "task_graph.hpp"

namespace flotilla::bench {

/// For the messages of failed driver calls.
inline constexpr char const* control_subject = "a control of the benchmark";

class driver_device {
 public:
  driver_device();
  ~driver_device();
  driver_device(driver_device const&) = delete;
  driver_device& operator=(driver_device const&) = delete;

  /// Makes the context current until the end of the block.
  class [[nodiscard]] scope {
   public:
    explicit scope(driver_device const& device);
    ~scope();
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;

   private:
    driver::table const& api_;
  };

  void fit(task_graph const& graph);
  void clear();
  void read(std::vector<std::uint64_t>& values) const;

  [[nodiscard]] driver::table const& api() const noexcept { return *api_; }
  [[nodiscard]] CUfunction kernel() const noexcept { return kernel_; }
  [[nodiscard]] pattern_argument argument(task_graph const& graph, std::size_t index) const {
    return graph.argument(index, reinterpret_cast<unsigned long long*>(values_));
  }

 private:
  std::shared_ptr<driver::table const> api_;
  std::unique_ptr<context::context_handle> context_;
  CUlibrary library_ = nullptr;
  CUfunction kernel_ = nullptr;
  CUdeviceptr values_ = 0;
  std::size_t size_ = 0;  // number of values
};

}  // namespace flotilla::bench
