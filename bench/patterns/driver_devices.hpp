// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The contexts, the kernels and the memory of the controls, which call the driver without
// flotilla's runtime.

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "context/context_handle.hpp"
#include "control_subject.hpp"
#include "distribution.hpp"
#include "task_graph.hpp"

namespace flotilla::bench {

/// One device, or two devices that have access to each other's memory.
class driver_devices {
 public:
  /// @throws std::runtime_error  The machine has too few devices, or they are not peers.
  explicit driver_devices(int count);
  ~driver_devices();
  driver_devices(driver_devices const&) = delete;
  driver_devices& operator=(driver_devices const&) = delete;

  /// Makes the context of a device current until the end of the block.
  class [[nodiscard]] scope {
   public:
    scope(driver_devices const& devices, unsigned device);
    ~scope();
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;

    /// Makes the context of another device current instead.
    void change_to(unsigned device);

   private:
    driver_devices const& devices_;
    unsigned current_;
  };

  void fit(task_graph const& graph);
  void clear();
  /// Reads the values of all tasks of `graph`, for which `fit` was called.
  void read(std::vector<std::uint64_t>& values) const;

  /// The kernel of a task with its arguments.
  struct call {
    unsigned device;
    CUfunction kernel;
    pattern_argument argument;
    unsigned long long* mirror;  // only the kernel for two devices has this parameter
  };
  /// Returns the call for a task of the graph for which `fit` was called.
  [[nodiscard]] call task(task_graph const& graph, std::size_t index) const;

  [[nodiscard]] driver::table const& api() const noexcept { return *api_; }
  [[nodiscard]] unsigned count() const noexcept { return static_cast<unsigned>(parts_.size()); }

 private:
  struct part {
    std::unique_ptr<context::context_handle> context;
    CUfunction kernel = nullptr;
    CUdeviceptr values = 0;
  };
  void load_kernels();

  std::shared_ptr<driver::table const> api_;
  std::vector<part> parts_;
  CUlibrary library_ = nullptr;
  std::size_t size_ = 0;  // number of values
  distribution distribution_;
};

}  // namespace flotilla::bench
