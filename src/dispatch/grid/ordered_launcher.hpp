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
#include "dispatch/grid/order_records.hpp"
#include "dispatch/grid/order_words.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// The grid is one of the kernel's ordered twin (flotilla/detail/ordered_twin.hpp): each task waits
/// for its own predecessors. Each wave is a batch with a number of its own, which the grid writes
/// when the wave has ended. The graph's completion node writes the last number.
///
/// Grids of several devices may wait for each other (joint_run). Then `prepare` all of them,
/// `start` each, and `commit` each. If the driver has refused one, the tasks of the others are
/// skipped.
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
  explicit ordered_launcher(parts const& with)
      : parts_(with), words_(with.context), order_(with.records, with.tasks) {}
  /// Call both with the context current.
  void create(CUstream memory_stream) noexcept { words_.create(memory_stream); }
  void destroy() noexcept { words_.destroy(); }

  /// Takes memory for a launch. Returns false if there is none: launch the tasks in another way.
  [[nodiscard]] bool begin() noexcept;
  /// The words of the grid that has begun.
  [[nodiscard]] order_words::words& words() const noexcept { return *words_of_launch_; }
  /// Gives the memory of `begin` back.
  void give_back() noexcept { parts_.records.give_back(); }

  /// Call it after `begin`. Makes the graph and begins a batch for each wave. The tasks must have
  /// one form and an ordered twin. The lane must have room for these batches. If the driver refuses
  /// the graph, gives everything back.
  /// @param own     The order of the tasks, and `words()`. Valid until `commit`.
  /// @param others  The grids for which tasks may wait. Empty: the grid is launched alone.
  [[nodiscard]] CUresult prepare(lane& lane, ordered_part const& own, ordered_parts const& others,
                                 batch_traits const& traits);
  /// Launches the graph. If the driver refuses it, gives everything back.
  [[nodiscard]] CUresult start();
  /// Gives everything back, without a launch.
  void cancel();
  /// Commits the batches after `start`.
  /// @param runs  Whether the tasks run. Otherwise their blocks end at once, and the batches have
  ///              no tasks. A grid that is launched alone always runs.
  /// @return the batches, one for each wave
  std::span<lane::batch* const> commit(bool runs = true);

 private:
  struct ordered_node;
  [[nodiscard]] CUresult make_graph(ordered_parts const& others, batch_traits const& traits);

  parts const parts_;
  order_words words_;
  order_records order_;
  // Of the launch that is being made:
  order_words::words* words_of_launch_ = nullptr;
  ordered_part own_;
  lane* lane_ = nullptr;
  graph_template* carrier_ = nullptr;
  bool long_running_ = false;
  bool is_joint_ = false;  // whether other grids are launched together with it
  std::array<lane::batch*, max_waves> batches_{};
};

}  // namespace flotilla::dispatch
