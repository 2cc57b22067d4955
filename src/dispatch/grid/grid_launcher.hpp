// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches many tasks of one kernel as one grid.

#include <cuda.h>

#include <cstdint>
#include <span>
#include <vector>

#include "context/context_handle.hpp"
#include "dispatch/graph/batch_launcher.hpp"
#include "dispatch/graph/kernel_table.hpp"
#include "dispatch/grid/grid_records.hpp"
#include "dispatch/lane/lane_set.hpp"
#include "dispatch/task/task_table.hpp"

namespace flotilla::dispatch {

/// A grid of a kernel's twin runs many launches of the kernel side by side: each block reads from a
/// record which launch it belongs to (flotilla/detail/kernel_twin.hpp). A task then costs the
/// device a record instead of a kernel. The grid's tasks end together.
///
/// Threads: only the holder of the device's lease, with the context current. The launcher returns
/// driver errors, and the caller must handle them.
class grid_launcher {
 public:
  struct parts {
    context::context_handle const& context;
    task_table const& tasks;
    kernel_table const& kernels;
    lane_set& lanes;
    batch_launcher& launcher;
  };
  explicit grid_launcher(parts const& with);
  /// Asks the driver for the size of the device.
  void create() noexcept;

  /// Returns whether the launch may be part of a grid: its kernel has a twin, and the launch is
  /// small beside the device. A launch that fills the device gains nothing.
  [[nodiscard]] bool takes(slot const& task) const noexcept;
  /// Returns how many blocks a grid with this launch should have at most. With more, the first
  /// tasks of the grid would end long before the grid ends.
  /// @param kernel_ns  the estimated duration of the kernel
  [[nodiscard]] std::uint64_t max_blocks(slot const& task, float kernel_ns) const noexcept;
  /// Returns whether both launches have the same kernel, block size and size of dynamic shared
  /// memory, as all launches of a grid must.
  [[nodiscard]] bool have_one_form(slot const& one, slot const& other) const noexcept;
  /// Returns how many of the first tasks can be one grid: launches of one form that `takes`
  /// accepts.
  [[nodiscard]] std::size_t count_of_grid(std::span<slot_address const> tasks) const noexcept;

  /// Launches the tasks as one grid, and begins and commits a batch of the lane for them. The tasks
  /// must be as `count_of_grid` demands, and at most lane::max_tasks.
  struct outcome {
    lane::batch* batch = nullptr;      // null: nothing was launched, for the reason `launched`
    CUresult launched = CUDA_SUCCESS;  // the driver's status of the grid's launch
    CUresult completed =
        CUDA_SUCCESS;  // the status of the call that lets the device report the end
  };
  [[nodiscard]] outcome launch(lane& lane, std::span<slot_address const> tasks,
                               batch_traits const& traits);
  /// Takes the records of a batch that has ended.
  void give_back(lane::batch const& ended) noexcept { records_.give_back(ended.records); }

 private:
  /// Returns the number of blocks of this size that the device runs at the same time, as if other
  /// resources than threads did not limit it.
  [[nodiscard]] std::uint64_t capacity(slot const& task) const noexcept;
  [[nodiscard]] CUresult launch_twin(lane const& lane, slot const& any,
                                     grid_records::written const& records);
  [[nodiscard]] CUresult complete(lane& lane, batch_traits const& traits);

  parts const parts_;
  std::uint64_t multiprocessors_ = 1;
  grid_records records_;
};

}  // namespace flotilla::dispatch
