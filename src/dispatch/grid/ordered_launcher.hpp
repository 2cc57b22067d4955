// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches several waves of dependent tasks as one grid.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <span>

#include "context/context_handle.hpp"
#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/grid/grid_order.hpp"
#include "dispatch/grid/grid_records.hpp"
#include "dispatch/grid/order_words.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The grid is one of the kernel's ordered twin (flotilla/detail/ordered_twin.hpp): each task waits
/// for its own predecessors. Each wave is a batch with a number of its own, which the grid writes
/// when the wave has ended. The graph's completion node writes the last number.
///
/// Threads: only the holder of the device's lease, with the context current. The launcher returns
/// driver errors, and the caller must handle them.
class ordered_launcher {
 public:
  static constexpr std::uint32_t max_waves = detail::twin_words::max_waves;

  struct parts {
    context::context_handle const& context;
    task_table const& tasks;
    kernel_table const& kernels;
    lane_set& lanes;
    batch_launcher& launcher;
    grid_records& records;
  };
  explicit ordered_launcher(parts const& with) : parts_(with), words_(with.context) {}
  /// Call both with the context current.
  void create(CUstream memory_stream) noexcept { words_.create(memory_stream); }
  void destroy() noexcept { words_.destroy(); }

  struct outcome {
    CUresult status = CUDA_SUCCESS;
    std::span<lane::batch* const> batches{};  // one for each wave; none if nothing was launched
  };
  /// Takes memory for a launch. Returns false if there is none: launch the tasks in another way.
  [[nodiscard]] bool begin() noexcept;
  /// Call it after `begin`. Launches the tasks, and begins and commits their batches. The tasks
  /// must have one form and an ordered twin. The lane must have room for a batch for each wave.
  [[nodiscard]] outcome launch(lane& lane, grid_order const& order, batch_traits const& traits);

 private:
  struct ordered_node;
  [[nodiscard]] CUresult launch_grid(lane& lane, grid_order const& order,
                                     batch_traits const& traits, graph_template*& carrier);

  parts const parts_;
  order_words words_;
  order_words::words* of_launch_ = nullptr;        // of the launch that is being made
  std::array<lane::batch*, max_waves> batches_{};  // of the launch that is being made
};

}  // namespace flotilla::dispatch
