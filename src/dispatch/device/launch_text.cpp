// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/device/launch_text.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace flotilla::dispatch {

namespace {

std::string product(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return std::to_string(x) + " x " + std::to_string(y) + " x " + std::to_string(z);
}

/// What the driver says about one kernel on one device.
class limits {
 public:
  limits(context::context_handle const& context, CUfunction kernel)
      : api_(context.api()), kernel_(kernel) {
    has_device_ = api_.device_get(&device_, context.where().driver_ordinal) == CUDA_SUCCESS;
  }

  [[nodiscard]] std::optional<int> of_kernel(CUfunction_attribute which) const {
    int value = 0;
    return api_.func_get_attribute(&value, which, kernel_) == CUDA_SUCCESS ? std::optional{value}
                                                                           : std::nullopt;
  }
  [[nodiscard]] std::optional<int> of_device(CUdevice_attribute which) const {
    int value = 0;
    bool const known =
        has_device_ && api_.device_get_attribute(&value, which, device_) == CUDA_SUCCESS;
    return known ? std::optional{value} : std::nullopt;
  }
  /// The number of blocks that the device can run at the same time.
  [[nodiscard]] std::optional<int> blocks_at_once(int threads, std::size_t shared_bytes) const {
    auto const multiprocessors = of_device(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    int each = 0;
    bool const known =
        multiprocessors && api_.occupancy_max_active_blocks != nullptr &&
        api_.occupancy_max_active_blocks(&each, kernel_, threads, shared_bytes) == CUDA_SUCCESS;
    return known ? std::optional{each * *multiprocessors} : std::nullopt;
  }

 private:
  driver::table const& api_;
  CUfunction kernel_;
  CUdevice device_{};
  bool has_device_ = false;
};

std::string text_of_attributes(launch_attributes const& attributes) {
  std::string text;
  if (extent const size = attributes.cluster; size != extent{}) {
    text += ", clusters of " + product(size.x, size.y, size.z) + " blocks";
  }
  if (attributes.cooperative) { text += ", cooperative"; }
  if (attributes.programmatic) { text += ", programmatic"; }
  return text;
}

}  // namespace

std::string launch_text(context::context_handle const& context, CUfunction kernel, slot const& task,
                        slot_side const& side) {
  launch_attributes const attributes = task.attributed ? side.attributes : launch_attributes{};
  std::string text = ", grid " + product(task.grid[0], task.grid[1], task.grid[2]) + ", block " +
                     product(task.block[0], task.block[1], task.block[2]) + ", " +
                     std::to_string(task.shared_bytes) + " bytes of dynamic shared memory" +
                     text_of_attributes(attributes);
  limits const known{context, kernel};
  auto const threads = known.of_kernel(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  auto const static_bytes = known.of_kernel(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  auto const all_bytes = known.of_device(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (!threads || !static_bytes || !all_bytes) { return text; }
  text += " (for this kernel, a block may have at most " + std::to_string(*threads) +
          " threads and " + std::to_string(std::max(*all_bytes - *static_bytes, 0)) +
          " bytes of dynamic shared memory";
  if (attributes.cooperative) {
    int const block = task.block[0] * task.block[1] * task.block[2];
    if (auto const blocks = known.blocks_at_once(block, task.shared_bytes)) {
      text +=
          ", and a cooperative grid of such blocks at most " + std::to_string(*blocks) + " blocks";
    }
  }
  return text + ")";
}

}  // namespace flotilla::dispatch
