// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/grid/grid_limits.hpp"

#include "dispatch/graph/launch_shape.hpp"

namespace flotilla::dispatch {

void grid_limits::create(context::context_handle const& context) noexcept {
  driver::table const& api = context.api();
  CUdevice device{};
  int count = 0;
  if (api.ctx_get_device(&device) == CUDA_SUCCESS &&
      api.device_get_attribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) ==
          CUDA_SUCCESS) {
    *this = grid_limits{static_cast<std::uint64_t>(std::max(count, 1))};
  }
}

bool grid_limits::accept(kernel_entry const& kernel, size const& grid,
                         size const& block) const noexcept {
  std::uint64_t const threads = count(block);
  return !kernel.twin.functions.empty() && threads <= kernel.twin.max_threads &&
         is_valid_grid(grid) && count(grid) <= max_blocks_of_launch(threads);
}

}  // namespace flotilla::dispatch
